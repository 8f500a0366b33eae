"""The exact readers: what they take, and in which words they refuse the rest."""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import karat
from each import each
from karat.measures._columns import parse_grade, parse_score, shorten
from karat.measures._files import Source
from karat.measures._text import from_mapping, read_table

QRELS = {"q1": {"d1": 1}}


def read(text: str | bytes, kind: Any = "run", format: Any = "trec") -> Any:
    """Read a text as a file called ``f``."""
    data = text.encode() if isinstance(text, str) else text
    return read_table(Source(name="f", format=format, path=None, data=data), kind)


def refused(text: str | bytes, kind: str = "run", format: str = "trec") -> str:
    """Return the message with which a text is refused."""
    with pytest.raises(karat.InputError) as caught:
        read(text, kind, format)
    assert "\n" not in str(caught.value)
    return str(caught.value)


NO_NUMBERS = ["nan", "NaN", "inf", "-Infinity", "1e999", "-1e999", "3,5", "x", "1_000", "\u0663\u0664", "1e", "0x1F"]
NO_NUMBERS += ["--1", "1.2.3", "1e5.5", ".", "+", "1f", "\u00bd", "\u2212" + "1"]


@each("text", NO_NUMBERS)
def test_a_score_that_is_no_finite_number_is_refused(text: str) -> None:
    """float() takes nan, 1_000 and digits of other scripts; a score is a finite decimal number."""
    wanted = f"f, line 2: score {text!r} is not a finite number; scores are decimal numbers such as 12.5"
    assert refused(f"q1 Q0 d0 1 1.0 t\nq1 Q0 d1 1 {text} t\n") == wanted
    assert refused(f'q1,d0,1.0\nq1,d1,"{text}"\n', format="csv") == wanted
    assert refused(f"q1\td0\t1.0\nq1\td1\t{text}\n", format="tsv") == wanted


@each("text", ["1.", ".0", "x", "1e0", "1_0", "\u0663", "+", "1.5", "nan", "0x1"])
def test_a_grade_that_is_no_whole_number_is_refused(text: str) -> None:
    """A grade is an integer, and is not rounded to one."""
    wanted = f"f, line 2: grade {text!r} is not a whole number; grades are integers such as 0, 1, 2"
    assert refused(f"q1 0 d0 1\nq1 0 d1 {text}\n", "qrels") == wanted
    assert refused(f"q1,d0,1\nq1,d1,{text}\n", "qrels", "csv") == wanted


@each("text", ["2", "2.0", "+2.000", "002.0"])
def test_a_grade_may_be_written_as_pandas_does(text: str) -> None:
    """A column that once had a missing value is written as 2.0, which trec_eval, too, reads as 2."""
    assert read(f"q1 0 d1 {text}\n", "qrels") == {"q1": {"d1": 2}}
    assert read(f"q1,d1,{text}\n", "qrels", "csv") == {"q1": {"d1": 2}}
    assert read(f"query_id\tdoc_id\trelevance\nq1\td1\t{text}\n", "qrels", "tsv") == {"q1": {"d1": 2}}


@each("text", ["1000000000000001", "-1000000000000001", "9" * 30, "9" * 5000])
def test_a_huge_grade_is_refused(text: str) -> None:
    """A grade that a float64 does not hold exactly is too large, however many digits it has."""
    wanted = f"f, line 1: grade {shorten(text)} is too large; grades lie between -10^15 and 10^15"
    assert refused(f"q1 0 d1 {text}\n", "qrels") == wanted
    assert len(wanted) < 150


@each(("text", "value"), [("+2", 2.0), ("-0.5", -0.5), (".5", 0.5), ("5.", 5.0), ("1e-400", 0.0), ("0012", 12.0)])
def test_the_spellings_of_a_score(text: str, value: float) -> None:
    """Signs, exponents and a missing half of a decimal number are its usual spellings."""
    assert parse_score(text) == value


def test_scores_are_doubles() -> None:
    """Two scores that are one in single precision stay two."""
    table = read("q Q0 a 1 16777216 t\nq Q0 b 2 16777217 t\n")
    assert table["q"]["a"] < table["q"]["b"]


def test_the_largest_grades() -> None:
    """Grades go up to 10^15, with leading zeros or without."""
    assert parse_grade("1000000000000000") == 10**15
    assert parse_grade("-000000000000000000007") == -7


@each(
    ("line", "kind", "message"),
    [
        ("q1 Q0 d1", "run", "3 columns instead of 6; a line is: query Q0 document rank score tag"),
        ("q1", "qrels", "1 column instead of 4; a line is: query iteration document grade"),
        ("q1 Q0 d1 1 0.5 my tag", "run", "7 columns instead of 6; a line is: query Q0 document rank score tag"),
        (
            "q1 0 d1 1",
            "run",
            "4 columns instead of 6; a line is: query Q0 document rank score tag; judgments come first, then runs",
        ),
        (
            "q1 Q0 d1 1 0.5 t",
            "qrels",
            "6 columns instead of 4; a line is: query iteration document grade; judgments come first, then runs",
        ),
    ],
)
def test_the_wrong_number_of_columns(line: str, kind: str, message: str) -> None:
    """Too few and too many columns are refused, with a guess when the files were swapped."""
    assert refused(f"\n\n{line}\n", kind) == f"f, line 3: {message}"


@pytest.mark.parametrize("format", ["csv", "tsv"])
def test_ragged_tables_are_refused(format: str) -> None:
    """Every row of a table has as many cells as its first."""
    mark = "," if format == "csv" else "\t"
    for cells in (["q1", "d1"], ["q1", "d1", "1", "x"]):
        text = f"query_id,doc_id,score\nq1,d0,1\n{','.join(cells)}\n".replace(",", mark)
        assert refused(text, format=format).startswith(f"f, line 3: {len(cells)} columns instead of 3; ")


def test_a_document_that_stands_twice_is_named() -> None:
    """A duplicate is named by query, document and line, in every format."""
    what = "document 'd1' appears twice for query 'q1'; keep only its best score, and collapse chunks"
    record = '{"qid": "q1", "doc": "d1", "score": 1}'
    assert refused("q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\nq1 Q0 d1 2 1 t\n").startswith(f"f, line 3: {what}")
    assert refused("q1,d1,1\n\nq1,d1,1\n", format="csv").startswith(f"f, line 3: {what}")
    assert refused(f"{record}\n{record}\n", format="jsonl").startswith(f"f, line 2: {what}")
    assert refused(f"[{record}, {record}]", format="json").startswith(f"f, item 2: {what}")
    assert refused('{"q1": ["d1", "d2", "d1"]}', format="json").startswith(f"f: {what}")
    assert refused("q1 0 d1 1\nq1 0 d1 1\n", "qrels").endswith("for query 'q1'; keep one grade for each pair")


def test_bytes_that_are_no_text_are_named_by_line() -> None:
    """What is not UTF-8, such as Latin-1 and UTF-16, and NUL bytes are refused with their line."""
    for known in ("trec", "csv", "tsv", "json", "jsonl"):
        assert refused(b"\n\nq1 \xe9t\xe9", format=known).startswith("f, line 3: byte 0xe9 is not UTF-8; convert")
        assert refused(b"\nq1 a\x00b", format=known).startswith("f, line 2: a NUL byte, which text never has")
    assert refused(b"\xef\xbb\xbfab\n\xff").startswith("f, line 2: byte 0xff is not UTF-8")
    assert "is not UTF-8" in refused("q1 Q0 d1 1 1 t".encode("utf-16"))


@each("format", ["trec", "csv", "tsv", "jsonl"])
def test_no_rows_are_refused(format: str) -> None:
    """A file of blanks, or of a header only, is refused."""
    assert refused(" \n\r\n", format=format) in ("f: the file holds no rows", "f: the file holds only blanks")
    if format in ("csv", "tsv"):
        assert refused("qid,doc,score\n".replace(",", "," if format == "csv" else "\t"), format=format) == (
            "f: the file holds no rows"
        )


@each(
    ("text", "message"),
    [
        ('q1,"d1,1\nq1,d2,1\n', "line 1: is not valid CSV: a quote is opened here and never closed"),
        ('q1,d1,1\nq1,"d2,1\nq1,d3,1\n', "line 2: is not valid CSV: a quote is opened here and never closed"),
        ('q1,"d1"x,1\n', "line 1: is not valid CSV: ',' expected after '\"'"),
        ("q1,d1,1\rq1,d2,1\n", "line 1: is not valid CSV: the line contains a carriage return"),
        (f"q1,{'x' * 200_000},1\n", "line 1: is not valid CSV: a cell has more than 131,072 characters"),
        ("q1,,1\n", "line 1: the document id is empty"),
        (" ,d1,1\n", "line 1: the query id is empty"),
        ("q1,d1\n", "line 1: a first row of 2 columns that are not named; name them query_id, doc_id, score"),
        ("qid,docid,points\nq1,d1,1\n", "line 1: no score column among 'qid', 'docid', 'points'; name one of them"),
        ("qid,docid,score,score\nq1,d1,1,2\n", "line 1: column 'score' appears twice; keep one of them"),
        ("qid,docid,score,Score\nq1,d1,1,2\n", "line 1: column 'score' appears twice; keep one of them"),
    ],
)
def test_mistakes_of_csv(text: str, message: str) -> None:
    """What is wrong with a CSV file is said with the line on which the row begins."""
    assert refused(text, format="csv").startswith(f"f, {message}")


def test_csv_cells_may_hold_anything_in_quotes() -> None:
    """Commas, quotes and line ends stand in quoted cells, and blanks around a cell do not count."""
    assert read('q1 , "a,""b\nc" ,2\nq1,d2, 1\n'.replace(' "', '"').replace('" ', '"'), format="csv") == {
        "q1": {'a,"b\nc': 2.0, "d2": 1.0}
    }


def test_tsv_has_no_quotes() -> None:
    """In TSV a quotation mark is a character like any other, as BEIR's files need."""
    assert read('q1\t"d1\t2\nq1\td"2\t1\n', format="tsv") == {"q1": {'"d1': 2.0, 'd"2': 1.0}}


def test_a_column_of_ranks_is_not_taken_for_scores() -> None:
    """MS MARCO's unnamed query, document, rank is refused: it would turn every ranking round."""
    assert "the scores are ranks" in refused("q1\td1\t1\nq1\td2\t2\nq2\td1\t1\n", format="tsv")
    assert read("q1\td1\t2\nq1\td2\t1\n", format="tsv") == {"q1": {"d1": 2.0, "d2": 1.0}}
    named = "query_id\tdoc_id\tscore\nq1\td1\t1\nq1\td2\t2\n"
    assert read(named, format="tsv") == {"q1": {"d1": 1.0, "d2": 2.0}}


def test_a_very_wide_header_is_not_printed_in_full() -> None:
    """An error about columns names ten of them."""
    message = refused(",".join(f"column{i}" for i in range(999)) + ",qid,docid\n", format="csv")
    assert len(message) < 300
    assert "'column9', ..." in message


@each(
    ("text", "message"),
    [
        ("{", "f, line 1: is not valid JSON: "),
        ('{\n"q1": {"d1": 1,}}', "f, line 2: is not valid JSON: "),
        ('{"q1": {"d1": 1}} x', "f, line 1: is not valid JSON: Extra data (column 19)"),
        ("[]", "f: the file holds no rows"),
        ("{}", "f: there is no query"),
        ("1", "f: holds neither {query: {document: value}} nor a list of records"),
        ('"text"', "f: holds neither"),
        ('{"q1": 1}', "f: query 'q1' has 1; give {document: value} or a list of documents"),
        ('{"q1": "d1"}', "f: query 'q1' has 'd1'; give"),
        ('{"q1": null}', "f: query 'q1' has None; give"),
        ('{"q1": {"d1": NaN}}', "f, query 'q1', document 'd1': score nan is not a finite number"),
        ('{"q1": {"d1": -Infinity}}', "f, query 'q1', document 'd1': score -inf is not a finite number"),
        ('{"q1": {"d1": 1e999}}', "f, query 'q1', document 'd1': score inf is not a finite number"),
        ('{"q1": {"d1": true}}', "f, query 'q1', document 'd1': score True is not a finite number"),
        ('{"q1": {"d1": null}}', "f, query 'q1', document 'd1': score None is not a finite number"),
        ('{"q1": {"d1": "1.5"}}', "f, query 'q1', document 'd1': score '1.5' is text; write the number without quotes"),
        ('{"q1": {"d1": [1]}}', "f, query 'q1', document 'd1': score [1] is not a finite number"),
        ('{"q1": {"": 1}}', "f, query 'q1': an id is empty"),
        ('{"": {"d1": 1}}', "f: an id is empty"),
        ('{"q1": {"\\ud800": 1}}', "f, query 'q1': id '\\ud800' is not valid Unicode"),
        ('{"\\udfff": {"d1": 1}}', "f: id '\\udfff' is not valid Unicode"),
        ('{"q1": [["d1"]]}', "f, query 'q1': id ['d1'] is not text; ids are strings"),
        ('{"q1": {"d1": 1},\n "q2": {},\n "q1": {}}', "f, line 3: key 'q1' appears twice in one object; keep one"),
        ('{"q1": {"d1": 1,\n "d2": 2, "d\\u0031": 3}}', "f, line 2: key 'd1' appears twice in one object"),
        ('{"q1": {"d1": ' + "9" * 5000 + "}}", "f: holds a number of more than 4,300 digits"),
        ('{"q1": {"d1": ' + "[" * 100_000, "f: is nested too deep"),
        ('[{"qid": "q1", "doc": "d1", "score": 1}, 5]', "f, item 2: 5 is not a record; write"),
        ('[{"qid": "q1", "doc": "d1"}]', "f, item 1: no score column among 'qid', 'doc'"),
        ('[{"qid": 1.5, "doc": "d1", "score": 1}]', "f, item 1: id 1.5 is not text"),
        ('[{"qid": "q1", "doc": "d1", "score": "x"}]', "f, item 1: score 'x' is not a finite number"),
    ],
)
def test_mistakes_of_json(text: str, message: str) -> None:
    """What is wrong with JSON is said with the line, or the query and document."""
    assert refused(text, format="json").startswith(message)


@each("depth", range(100, 1100, 50))
def test_json_that_is_nested_deep_is_refused_at_any_depth(depth: int) -> None:
    """Neither reading a nested value nor showing it in the message ends in a traceback."""
    assert refused('{"q1": {"d1": ' + "[" * depth + "]" * depth + "}}", format="json")


def test_mistakes_of_json_lines_name_the_line() -> None:
    """An error in JSONL has the number of its line, blank lines counted."""
    good = '{"qid": "q1", "doc": "d1", "score": 1}\n\n'
    assert refused(good + "{", format="jsonl").startswith("f, line 3: is not valid JSON")
    assert refused(good + "[1]", format="jsonl").startswith("f, line 3: [1] is not a record")
    twice = '{"qid": "q1", "doc": "d2", "score": 1, "score": 2}'
    assert refused(good + twice, format="jsonl").startswith("f, line 3: key 'score' appears twice")
    assert refused(good + '{"qid": "q1", "doc": "", "score": 1}', format="jsonl") == "f, line 3: an id is empty"


def test_grades_of_json_are_whole() -> None:
    """1.0 is the grade 1 in JSON, which has one kind of number; 1.5 and text are none."""
    assert read('{"q1": {"d1": 1.0, "d2": -1}}', "qrels", "json") == {"q1": {"d1": 1, "d2": -1}}
    assert "grade 1.5 is not a whole number" in refused('{"q1": {"d1": 1.5}}', "qrels", "json")
    assert "grade '1' is text" in refused('{"q1": {"d1": "1"}}', "qrels", "json")
    assert "grade 1e+16 is too large" in refused('{"q1": {"d1": 1e16}}', "qrels", "json")
    assert "there is no judgment" in refused('{"q1": {}, "q2": []}', "qrels", "json")


def test_integer_ids_of_json_are_text() -> None:
    """Records often hold numbers for ids."""
    assert read('[{"qid": 1, "doc": 7, "score": 0.5}]', format="json") == {"1": {"7": 0.5}}


def test_dicts_are_taken_with_numpy_scalars() -> None:
    """Dicts that were built from arrays hold NumPy's numbers and strings."""
    run = {np.str_("q1"): {np.str_("d1"): np.float32(0.5), np.int64(7): np.int32(2), "d2": np.float64(1)}}
    assert from_mapping(run, "run", "run") == {"q1": {"d1": 0.5, "7": 2.0, "d2": 1.0}}
    assert karat.score({"q1": {"d1": np.int8(1)}}, run, ["RR"]).mean() == {"RR": 1 / 3}


def test_other_mappings_are_taken() -> None:
    """Whatever is a mapping will do, and tuples are lists."""
    run = MappingProxyType({"q1": MappingProxyType({"d1": 1.0}), "q2": ("a", "b")})
    assert from_mapping(run, "run", "run") == {"q1": {"d1": 1.0}, "q2": {"a": 2.0, "b": 1.0}}


def test_dicts_are_not_changed() -> None:
    """Scoring leaves its arguments as they were, the clean and the unclean."""
    qrels = {"q1": {"d1": 1, "d2": 0}, 2: {"d1": 1.0}}
    run = {"q1": {"d1": 1, "d2": 2.5}, 2: {7: np.float64(1)}, "q3": ["a", "b"]}
    before = json.dumps(qrels), repr(run)
    karat.score(qrels, run)
    assert (json.dumps(qrels), repr(run)) == before


@each(
    ("run", "message"),
    [
        ({"q1": {"d1": 1.0}, 1: {"a": 1.0}, "1": {"b": 2.0}}, "run: query '1' appears twice, as text and as a number"),
        ({"q1": {"1": 1.0, 1: 2.0}}, "run: document '1' appears twice for query 'q1'"),
        ({"q1": {"d1": float("nan")}}, "run, query 'q1', document 'd1': score nan is not a finite number"),
        ({"q1": {"d1": 1e308, "d2": 1e308, "d3": float("inf")}}, "run, query 'q1', document 'd3': score inf"),
        pytest.param({"q1": {"d1": 10**400}}, "run, query 'q1', document 'd1': score 1000", id="401 digits"),
        pytest.param({"q1": {"d1": 10**5000}}, "run, query 'q1', document 'd1': score <int> is", id="5001 digits"),
        pytest.param({10**5000: {"d1": 1}}, "run: id <int> is no", id="5001 digits in an id"),
        ({"q1": {"d1": np.array([1.0])}}, "run, query 'q1', document 'd1': score array([1.]) is not a finite number"),
        ({"q1": [np.array([1, 2])]}, "run, query 'q1': id array([1, 2]) is not text"),
        ({"q1": {None: 1.0}}, "run, query 'q1': id None is not text"),
        ({"q1": {True: 1.0}}, "run, query 'q1': id True is not text"),
        ({"q1": {"\ud800": 1.0}}, "run, query 'q1': id '\\ud800' is not valid Unicode"),
        ({"q1": {"d1"}}, "run: query 'q1' has {'d1'}; give {document: value}"),
        ({b"q1": {"d1": 1.0}}, "run: id b'q1' is not text"),
        ({}, "run: there is no query"),
        ({"x": {"d1": 1.0}}, "run: no query in common with qrels; the run has 'x'; the judgments have 'q1'"),
    ],
)
def test_dicts_that_cannot_be_right_are_refused(run: Any, message: str) -> None:
    """Ids and values in dicts are checked like those in files."""
    with pytest.raises(karat.InputError) as caught:
        karat.score(QRELS, run)
    assert str(caught.value).startswith(message)


@each("value", [None, 5, b"run.txt", [("q1", "d1", 1.0)], object(), {"q1"}, iter([])])
def test_what_is_no_table_is_refused(value: Any) -> None:
    """Anything else than a path, dicts or a table is answered with what can be given."""
    for pair in ((QRELS, value), (value, {"q1": {"d1": 1.0}})):
        with pytest.raises(karat.UsageError, match="give a path, a dict of dicts, or a Polars, pandas or Arrow table"):
            karat.score(*pair)


def test_paths_are_strings_or_path_objects(tmp_path: Path) -> None:
    """A path is given as a string or as a Path."""
    path = tmp_path / "run.txt"
    path.write_text("q1 Q0 d1 1 1 t\n")
    assert karat.score(QRELS, path).to_dicts() == karat.score(QRELS, str(path)).to_dicts()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\x1b[31m\n", r"'a\x1b[31m\n'"),
        ("\u202e\u200b\ud800", r"'\u202e\u200b\ud800'"),
        pytest.param("x" * 10_000_000, "'" + "x" * 39 + "...'", id="ten million characters"),
        (["x"] * 1000, "['x', 'x', 'x', 'x', 'x', 'x', 'x', 'x',...]"),
        pytest.param(10**5000, "<int>", id="5001 digits"),
        (np.zeros((3, 3)), "array([[0., 0., 0.],        [0., 0., 0.]...)"),
    ],
)
def test_values_in_messages_are_short_and_harmless(value: Any, text: str) -> None:
    """Whatever stands in a file, a message stays one short line that no terminal acts on."""
    assert shorten(value) == text
    assert text.isprintable()
