"""Ten thousand damaged files: none gives a traceback, a hang, or a number that a strict parser does not give."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from msgspec import to_builtins

import karat
from faults.fuzz.checking import time_limit
from faults.fuzz.mutations import change_tokens
from karat.cli._main import cli
from karat.measures import _files, score_report, score_runs
from karat.measures._files import find
from karat.measures._input import load_judgments, load_run

SEEDS = range(10)
seeds = pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[1:])])
FILES = 1000  # for each seed

Table = dict[str, dict[str, float]]

QRELS: dict[str, dict[str, int]] = {"q1": {"d1": 1, "d2": 0, "#3": 2}, "20": {"d1": 3, "\u00e9": -1}, "q3": {"a,b": 1}}
RUN: Table = {"q1": {"d2": 2.5, "d1": 1.0, "x": 1.0}, "20": {"\u00e9": 1e-3, "d1": -4.0}, "q3": {"a,b": 12.0, "y": 0.0}}


# The reference: simple, strict, and without a line of karat's. It gives the table of a file, or raises Refused.


class Refused(Exception):
    """The file is not in its format."""


def text_of(data: bytes) -> str:
    """Decode UTF-8 without a byte-order mark and without NUL."""
    if data[:3] == b"\xef\xbb\xbf":
        data = data[3:]
    try:
        text = data.decode("utf-8", errors="strict")
    except UnicodeDecodeError as error:
        raise Refused from error
    if "\0" in text:
        raise Refused
    return text


def number_of(text: str, kind: str) -> float:
    """Read a grade or a score."""
    pattern = "[-+]?[0-9]+" if kind == "qrels" else r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
    if re.fullmatch(pattern, text) is None or len(text) > 4000:
        raise Refused
    return checked(int(text) if kind == "qrels" else float(text), kind)


def checked(value: Any, kind: str) -> float:
    """Take a number as a grade or a score."""
    if type(value) not in (int, float) or not abs(value) < 1.8e308:
        raise Refused
    if kind == "qrels" and (value != int(value) or abs(value) > 10**15):
        raise Refused
    return float(value)


def table_of(rows: Iterator[tuple[str, str, float]] | list[tuple[str, str, float]]) -> Table:
    """Collect rows; a document may stand once for each query, and there must be one."""
    table: Table = {}
    for query, document, value in rows:
        if query == "" or document == "" or document in table.setdefault(query, {}):
            raise Refused
        table[query][document] = value
    if not table:
        raise Refused
    return table


def trec(data: bytes, kind: str) -> Table:
    """Read columns between runs of blanks."""
    rows = []
    for line in text_of(data).split("\n"):
        fields = [field for field in re.split("[ \t\r\v\f]+", line) if field]
        if not fields:
            continue
        if len(fields) != (4 if kind == "qrels" else 6):
            raise Refused
        rows.append((fields[0], fields[2], number_of(fields[3 if kind == "qrels" else 4], kind)))
    return table_of(rows)


NAMES = (
    ("query_id", "qid", "q_id", "query", "topic_id", "topic"),
    ("doc_id", "docid", "docno", "doc", "document_id", "document", "corpus_id", "passage_id", "pid", "did"),
)
VALUES = {
    "qrels": ("relevance", "rel", "grade", "label", "judgment", "relevancy", "score"),
    "run": ("score", "sim", "similarity"),
}


def fold(name: str) -> str:
    """Return a column's name as it is compared."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def column(names: list[str], known: tuple[str, ...]) -> int:
    """Find the one column that is called by the first of some names."""
    folded = [fold(name) for name in names]
    for word in known:
        if word in folded:
            if folded.count(word) > 1:
                raise Refused
            return folded.index(word)
    raise Refused


def cells_of_csv(text: str) -> list[list[str]]:
    """Read CSV, character by character: RFC 4180, with LF or CRLF."""
    rows: list[list[str]] = []
    row: list[str] = []
    at = 0
    while at < len(text):
        cell = ""
        if text[at] == '"':
            while True:
                end = text.find('"', at + 1)
                if end < 0:
                    raise Refused
                cell += text[at + 1 : end]
                at = end + 1
                if text[at : at + 1] != '"':
                    break
                cell += '"'
        else:
            while at < len(text) and text[at] not in ",\r\n":
                cell += text[at]
                at += 1
        row.append(cell)
        ending = re.compile(r",|\r*\n|\r*$").match(text, at)  # the csv module takes any number of CR before LF
        if ending is None or (ending[0] == "" and at < len(text)):
            raise Refused
        at = ending.end()
        if ending[0] == ",":
            if at == len(text):
                row.append("")
        else:
            rows.append(row)
            row = []
    return [*rows, row] if row else rows


def delimited(data: bytes, kind: str, mark: str) -> Table:
    """Read CSV or TSV with a header, or with three columns, or with TREC's."""
    text = text_of(data)
    split = cells_of_csv(text) if mark == "," else [line.removesuffix("\r").split("\t") for line in text.split("\n")]
    rows = [[cell.strip(" \t") for cell in row] for row in split]
    rows = [row for row in rows if row != [""]]
    if len({len(row) for row in rows}) != 1:
        raise Refused
    head = rows[0]
    if all(any(fold(name) in known for name in head) for known in NAMES):
        places = [column(head, known) for known in (*NAMES, VALUES[kind])]
        rows = rows[1:]
    else:
        trec_places = {"qrels": (4, [0, 2, 3]), "run": (6, [0, 2, 4])}
        places = {3: [0, 1, 2], trec_places[kind][0]: trec_places[kind][1]}.get(len(head), [])
        if not places:
            raise Refused
    return table_of([(row[places[0]], row[places[1]], number_of(row[places[2]], kind)) for row in rows])


def json_of(text: str) -> Any:
    """Read JSON without a key that stands twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise Refused
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Refused from error


def id_of(value: Any) -> str:
    """Take a string of whole characters, or an integer, as an id."""
    if type(value) not in (str, int):
        raise Refused
    try:
        str(value).encode("utf-8", errors="strict")
    except UnicodeEncodeError as error:
        raise Refused from error
    return str(value)


def record(value: Any, kind: str) -> tuple[str, str, float]:
    """Take an object as a row."""
    if type(value) is not dict:
        raise Refused
    names = list(value)
    query, document, number = (value[names[column(names, known)]] for known in (*NAMES, VALUES[kind]))
    return id_of(query), id_of(document), checked(number, kind)


def json_table(data: bytes, kind: str) -> Table:
    """Read an object of queries, or a list of records."""
    value = json_of(text_of(data))
    if type(value) is list:
        return table_of([record(item, kind) for item in value])
    if type(value) is not dict:
        raise Refused
    table: Table = {}
    for query, documents in value.items():
        if type(documents) is list:
            rows = [
                (query, id_of(d), 1.0 if kind == "qrels" else float(len(documents) - i))
                for i, d in enumerate(documents)
            ]
        elif type(documents) is dict:
            rows = [(query, id_of(d), checked(v, kind)) for d, v in documents.items()]
        else:
            raise Refused
        if id_of(query) == "":
            raise Refused
        table[query] = table_of(rows)[query] if rows else {}
    if not table or (kind == "qrels" and not any(table.values())):
        raise Refused
    return table


def jsonl(data: bytes, kind: str) -> Table:
    """Read a record a line."""
    lines = [line for line in text_of(data).split("\n") if line.strip(" \t\r")]
    return table_of([record(json_of(line), kind) for line in lines])


REFERENCE: dict[str, Callable[[bytes, str], Table]] = {
    "trec": trec,
    "csv": lambda data, kind: delimited(data, kind, ","),
    "tsv": lambda data, kind: delimited(data, kind, "\t"),
    "json": json_table,
    "jsonl": jsonl,
}


def reference(data: bytes, kind: str, format: str) -> Table:
    """Return the table of a file whose format is known, unpacked if it is gzipped."""
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise Refused from error
    return REFERENCE[format](data, kind)


# The files: right ones in every format, and what is done to them.


def right_files(kind: str) -> list[tuple[str, bytes]]:
    """Return names and contents of right files, in every format."""
    table: dict[str, dict[str, Any]] = {"qrels": QRELS, "run": RUN}[kind]  # type: ignore[dict-item]
    rows = [(q, d, v) for q, documents in table.items() for d, v in documents.items()]
    value = {"qrels": "relevance", "run": "score"}[kind]
    records = [{"query_id": q, "doc_id": d, value: v} for q, d, v in rows]
    lines = [f"{q} 0 {d} {v}" if kind == "qrels" else f"{q} Q0 {d} 1 {v} tag" for q, d, v in rows]
    comma = [[q, f'"{d}"' if "," in d else d, str(v)] for q, d, v in rows]
    texts = {
        "": "\n".join(lines) + "\n",
        ".txt": "\r\n".join(line.replace(" ", " \t ") for line in lines) + "\r\n",
        ".json": json.dumps(table, indent=1),
        "-2.json": json.dumps(records, ensure_ascii=False),
        "-3.json": json.dumps({q: list(documents) for q, documents in table.items()}),
        ".jsonl": "".join(json.dumps(record) + "\n" for record in records),
        ".csv": f"query_id,doc_id,{value},note\n" + "".join(",".join(row) + ',"a ""b"", c"\n' for row in comma),
        "-2.csv": "\r\n".join(",".join(row) for row in comma),
        ".tsv": "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{v}\n" for q, d, v in rows),
        "-2.tsv": "".join(line.replace(" ", "\t") + "\n" for line in lines),
    }
    files = [(f"{kind}{ending}", text.encode()) for ending, text in texts.items()]
    return [*files, (f"{kind}.gz", gzip.compress(files[0][1], mtime=0))]


def right_parquet(kind: str) -> list[tuple[str, bytes]]:
    """Return the same files as Parquet, in one group of rows and in several."""
    table: dict[str, dict[str, Any]] = {"qrels": QRELS, "run": RUN}[kind]  # type: ignore[dict-item]
    rows = [(q, d, v) for q, documents in table.items() for d, v in documents.items()]
    frame = pl.DataFrame(rows, schema=["query_id", "doc_id", {"qrels": "rel", "run": "score"}[kind]], orient="row")
    files = []
    for size in (None, 2):
        buffer = io.BytesIO()
        frame.write_parquet(buffer, row_group_size=size)
        files.append((f"{kind}.parquet", buffer.getvalue()))
    return files


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Flip, delete, insert, repeat, move or cut bytes and lines of a file, mostly once."""
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        data = change_tokens(data, rng) or b" "
    return data


def table_or_none(path: Path, kind: Any, format: str | None) -> Table | None:
    """Return the table that karat reads, or None if it refuses the file."""
    try:
        table = load_run(path, format).table() if kind == "run" else load_judgments(path, format).table()
        return {query: dict(documents) for query, documents in table.items()}
    except karat.KaratError:
        return None


def print_scores(qrels: Path, run: Path, format: str | None) -> str:
    """Score two files with the command line, and return what it printed; what is refused prints nothing."""
    arguments = ["score", str(qrels), str(run), "--json", "--per-query", "-m", "nDCG@5", "-m", "P@1"]
    result = CliRunner().invoke(cli, arguments + (["--format", format] if format else []))
    if result.exception is not None:
        assert result.stdout == ""
        raise result.exception
    return result.stdout


def report_scores(qrels: Path, run: Path, format: str | None) -> str:
    """Do what the command line does, once its options are parsed, which takes longer than all the rest."""
    scores = score_runs(qrels, {"run": run}, ["nDCG@5", "P@1"], format=format)
    report = score_report(scores, qrels=str(qrels), conventions="karat", per_query=True)
    return json.dumps(to_builtins(report), allow_nan=False)


def accepted(qrels: Path, run: Path, score: Callable[[Path, Path], str]) -> bool:
    """Score two files, and say whether there was a result, which must be whole."""
    try:
        printed = score(qrels, run)
    except karat.KaratError as error:
        message = str(error)
        assert len(message) < 1000 + 2 * len(str(qrels)), message
        assert message.strip()
        return False
    measures = json.loads(printed)["runs"][0]["measures"]
    assert all(0 <= (cell["mean"] or 0) <= 1 and 0 <= cell["n"] <= cell["total"] for cell in measures.values())
    return True


def damaged_files(
    seed: int, folder: Path, count: int, make: Callable[[str], list[tuple[str, bytes]]] = right_files
) -> Iterator[tuple[Path, Path, Path, str, str | None]]:
    """Write one damaged file after another; give judgments and run, and which of them it is, its kind and format."""
    rng = random.Random(seed)
    right = {kind: make(kind) for kind in ("qrels", "run")}
    fixed = {kind: folder / f"right-{kind}" for kind in right}
    for kind, path in fixed.items():
        path.write_bytes(right_files(kind)[0][1])
    for _ in range(count):
        kind = rng.choice(["qrels", "run"])
        name, data = rng.choice(right[kind])
        path = folder / name
        path.write_bytes(damaged(data, rng))
        named = "trec" if path.suffix in ("", ".txt", ".gz") and rng.randrange(2) else None
        pair = (path, fixed["run"]) if kind == "qrels" else (fixed["qrels"], path)
        yield *pair, path, kind, named


def test_the_reference_reads_the_right_files(tmp_path: Path) -> None:
    """Without damage the reference and karat read the same table from every format."""
    for kind, table in (("qrels", QRELS), ("run", RUN)):
        for name, data in right_files(kind):
            (tmp_path / name).write_bytes(data)
            read = table_or_none(tmp_path / name, kind, None)
            if "-3.json" in name:  # lists of documents, in the order of the table
                assert read is not None
                assert {q: list(documents) for q, documents in read.items()} == {q: list(d) for q, d in table.items()}
            else:
                assert read == table
            assert reference(data, kind, find(tmp_path / name).format) == read


@pytest.mark.slow
@seeds
def test_damaged_files_are_refused_or_read_as_the_reference_reads_them(tmp_path: Path, seed: int) -> None:
    """Whatever is done to a file, karat explains what is wrong or reads what stands there, and in no time.

    Every tenth is scored by the command line.
    """
    compared = 0
    for number, (qrels, run, path, kind, named) in enumerate(damaged_files(seed, tmp_path, FILES)):
        with time_limit(path.stat().st_size):
            scored = accepted(qrels, run, partial(report_scores if number % 10 else print_scores, format=named))
            table = table_or_none(path, kind, named)
        assert table is not None or not scored
        if table is None:
            continue
        compared += 1
        data = path.read_bytes()
        assert reference(data, kind, named or find(path).format) == table, data
    assert compared > FILES / 20, "too few files are read for the comparison to mean anything"


@seeds
def test_what_the_reference_reads_is_read(tmp_path: Path, seed: int) -> None:
    """No file that the strict reference reads is refused."""
    for _, _, path, kind, named in damaged_files(1000 + seed, tmp_path, FILES // 4):
        try:
            wanted = reference(path.read_bytes(), kind, named or find(path).format)
        except (Refused, karat.KaratError):
            continue
        assert table_or_none(path, kind, named) == wanted, path.read_bytes()


@pytest.mark.slow
@seeds
def test_damaged_files_are_streamed_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The streaming reader gives the score, or the message, of the exact one for every damaged file."""
    for qrels, run, path, _, named in damaged_files(2000 + seed, tmp_path, FILES // 5):
        outcomes = []
        for large in (2**40, 0):
            monkeypatch.setattr(_files, "_LARGE", large)
            try:
                outcomes.append(karat.score(qrels, run, ["nDCG@5", "P@1", "NumRet"], format=named).to_dicts())
            except karat.KaratError as error:
                outcomes.append(str(error))  # type: ignore[arg-type]
        assert outcomes[0] == outcomes[1], path.read_bytes()


def check_parquet(seed: int, folder: Path) -> None:
    """Read damaged Parquet files: each is explained, or has as many rows as it says it has."""
    for qrels, run, path, kind, _ in damaged_files(3000 + seed, folder, FILES // 10, right_parquet):
        with time_limit(path.stat().st_size):
            accepted(qrels, run, partial(print_scores, format=None))
            table = table_or_none(path, kind, None)
        if table is not None:
            assert sum(map(len, table.values())) == pl.scan_parquet(path).select(pl.len()).collect().item()


@pytest.mark.slow
def test_damaged_parquet_files_are_refused_or_read_in_full(tmp_path: Path, environment: dict[str, str]) -> None:
    """A damaged Parquet file is never read in part; in a process of its own, since Polars may abort it.

    Then another process goes on with the next seed.
    """
    left, aborted = list(SEEDS), 0
    while left:
        process = subprocess.run(
            [sys.executable, __file__, tmp_path, *map(str, left)],
            env=environment | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, timeout=1200,
        )  # fmt: skip
        assert process.returncode in (0, -signal.SIGABRT), process.stderr[-2000:]
        left = left[len(process.stdout.split()) + 1 :]
        aborted += process.returncode != 0
    if aborted:
        pytest.xfail("Polars reserves more memory than there is, which nobody can catch")


if __name__ == "__main__":
    for number in sys.argv[2:]:
        check_parquet(int(number), Path(sys.argv[1]))
        print(number, flush=True)
