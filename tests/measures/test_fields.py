"""Fields of queries for means by group, and classes of documents, from every format that can hold them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import karat
from each import each
from karat.measures import read_classes, read_field

RECORDS = [
    {"query_id": "q1", "text": 'a "b"', "kind": "easy"},
    {"query_id": "q2", "text": "c, d", "kind": "hard"},
    {"query_id": "q3", "text": "", "kind": None},
]
WANTED = {"q1": "easy", "q2": "hard", "q3": ""}


def write(folder: Path, name: str, content: str | bytes | pl.DataFrame) -> Path:
    """Write a file."""
    path = folder / name
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@each(
    ("name", "content"),
    [
        ("q.jsonl", "\n\n".join(map(json.dumps, RECORDS))),
        ("q.json", json.dumps(RECORDS)),
        ("q", "\n".join(map(json.dumps, RECORDS))),
        ("q.jsonl.gz", gzip.compress("\n".join(map(json.dumps, RECORDS)).encode(), mtime=0)),
        ("q.csv", 'kind,query_id,text\r\neasy,q1,"a ""b"""\r\nhard,q2,"c, d"\r\n,q3,\r\n'),
        ("q.tsv", 'query_id\ttext\tkind\nq1\ta "b"\teasy\nq2\t"c, d\thard\nq3\t\t\n'),
        ("q.parquet", pl.DataFrame(RECORDS)),
        ("beir.jsonl", "\n".join(json.dumps({"_id": r["query_id"], "metadata": {"kind": r["kind"]}}) for r in RECORDS)),
    ],
)
def test_fields_are_read_from_every_table(tmp_path: Path, name: str, content: Any) -> None:
    """Every format with named columns gives each query its value."""
    assert read_field(write(tmp_path, name, content), "kind") == WANTED


def test_judgments_can_carry_the_field(tmp_path: Path) -> None:
    """The field may stand in each row of the judgments, as long as they agree."""
    text = "qid,doc,rel,kind\nq1,a,1,x\nq1,b,0,x\nq2,a,1,y\n"
    assert read_field(write(tmp_path, "q.csv", text), "kind") == {"q1": "x", "q2": "y"}


def test_numbers_are_values(tmp_path: Path) -> None:
    """Ids and values that are numbers become text."""
    assert read_field(write(tmp_path, "q.json", '[{"id": 7, "hops": 2}]'), "hops") == {"7": "2"}


@each(
    ("name", "content", "message"),
    [
        ("q.csv", "qid,kind\nq1,a\nq1,b\n", "q.csv, line 3: query 'q1' has two values of 'kind': 'a' and 'b'"),
        ("q.csv", "qid,kinds\nq1,a\n", "q.csv, line 2: no field 'kind', did you mean 'kinds'?"),
        ("q.csv", "qid,zzz\nq1,a\n", "q.csv, line 2: no field 'kind'; there are 'qid', 'zzz'"),
        ("q.csv", "a,kind\nq1,a\n", "q.csv, line 2: no query id among 'a', 'kind'; name it 'query_id'"),
        ("q.csv", "qid,kind\nq1,a,b\n", "q.csv, line 2: 3 columns instead of 2"),
        ("q.csv", "qid,kind,kind\nq1,a,b\n", "q.csv, line 1: column 'kind' appears twice; rename one of them"),
        ("q.csv", "qid,kind\nq1\n", "q.csv, line 2: 1 column instead of 2"),
        ("q.csv", 'qid,kind\nq1,"a\n', "q.csv, line 2: is not valid CSV: a quote is opened here"),
        ("q.csv", "qid,kind\n,a\n", "q.csv, line 2: an id is empty"),
        ("q.jsonl", '{"qid": null, "kind": 1}', "q.jsonl, line 1: id None is not text"),
        ("q.jsonl", '{"qid": "q1", "kind": 1}\n{', "q.jsonl, line 2: is not valid JSON"),
        ("q.jsonl", "[1]", "q.jsonl, line 1: [1] is not a record; give a table with named columns"),
        ("q.json", '{"q1": {"d1": 1}}', "q.json: is not a list of records; give a table with named columns"),
        ("q.json", '[{"qid": "q1", "kind": 1}, 3]', "q.json, item 2: 3 is not a record"),
        ("q.txt", "q1 0 d1 1\n", "q.txt: TREC files have no named columns; give a JSONL, CSV, TSV or Parquet file"),
        ("q.parquet", b"PAR1 and nothing else", "q.parquet: is not a valid Parquet file"),
        ("q.parquet", pl.DataFrame({"qid": ["q1", None], "kind": ["a", "b"]}), "q.parquet, row 2: id None is not text"),
    ],
)
def test_a_field_that_cannot_be_read_is_refused(tmp_path: Path, name: str, content: Any, message: str) -> None:
    """What is wrong with a table of queries is said with its line."""
    path = write(tmp_path, name, content)
    with pytest.raises(karat.InputError) as caught:
        read_field(path, "kind")
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


@each(
    ("name", "content"),
    [
        ("c.txt", "a A\n\nb\tA\r\nc C"),
        ("c.csv", 'a,A\n"b",A\nc,C\n'),
        ("c.tsv", "a\tA\nb\tA\nc\tC\n"),
        ("c", "a,A\nb, A\nc,C\n"),
        ("c.json", '{"a": "A", "b": "A", "c": "C"}'),
        ("c.json", '{"A": ["a", "b"], "C": ["c"]}'),
        ("c", '{"A": ["a", "b"],\n "c": "C"}'),
        ("c.txt.gz", gzip.compress(b"a A\nb A\nc C\n", mtime=0)),
    ],
)
def test_classes_are_read_from_every_form(tmp_path: Path, name: str, content: Any) -> None:
    """Classes are pairs of document and class, as rows or as JSON; saying the same twice is no contradiction."""
    assert read_classes(write(tmp_path, name, content)) == {"a": "A", "b": "A", "c": "C"}


@each(
    ("name", "content", "message"),
    [
        ("c.txt", "a A\nb B\na B\n", "c.txt, line 3: document 'a' is in two classes, 'A' and 'B'; keep one of them"),
        ("c.csv", "a,A\na,B\n", "c.csv, line 2: document 'a' is in two classes, 'A' and 'B'"),
        ("c.json", '{"A": ["a"], "B": ["a"]}', "c.json: document 'a' is in two classes, 'A' and 'B'"),
        ("c.json", '{"a": "A", "a": "B"}', "c.json, line 1: key 'a' appears twice in one object"),
        ("c.txt", "a\n", "c.txt, line 1: 1 column instead of 2; a line is: document class"),
        ("c.txt", "a b c\n", "c.txt, line 1: 3 columns instead of 2; a line is: document class"),
        ("c.csv", "a,\n", "c.csv, line 1: an id is empty"),
        ("c.json", "[1]", "c.json: holds no classes; write"),
        ("c.json", "{}", "c.json: holds no classes; write"),
        ("c.json", '{"a": 1.5}', "c.json: id 1.5 is not text"),
        ("c.json", '{"A": [null]}', "c.json: id None is not text"),
        ("c.parquet", pl.DataFrame({"a": [1]}), "c.parquet: classes are not read from Parquet; give JSON, CSV or TSV"),
        ("c.txt", b"a \xff\n", "c.txt, line 1: byte 0xff is not UTF-8"),
    ],
)
def test_classes_that_cannot_be_right_are_refused(tmp_path: Path, name: str, content: Any, message: str) -> None:
    """A document in two classes, and what is no class, is refused by name."""
    path = write(tmp_path, name, content)
    with pytest.raises(karat.InputError) as caught:
        read_classes(path)
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
