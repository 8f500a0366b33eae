"""Rows of someone's file: checked fields, collected mistakes, reported keys."""

from __future__ import annotations

import json

import pytest

from each import each
from karat.core import InputError, Span
from karat.files import Mistakes, Reading, parse_json
from karat.files._rows import Row


def row(values, **where):
    return Row(Reading(), values, "file.jsonl", **where)


def test_a_missing_field_says_where_and_what_was_meant():
    """The message has file, line and field, and the key that was probably meant."""
    with pytest.raises(InputError, match=r"^file.jsonl, line 7: 'text' is missing; did you mean it by 'txet'\?$"):
        row({"txet": "x"}, line=7).text("text")


@each(
    ("ask", "value", "message"),
    [
        ("text", 3, "'f' is 3, not text"),
        ("text", "\ud800", "'f' holds half of a surrogate pair"),
        ("id", "", "'f': an id is empty"),
        ("id", True, "'f': id True is not text"),
        ("id", 1.5, "'f': id 1.5 is not text"),
        ("texts", ["a", 1], "'f' holds 1, not text"),
        ("list", {}, "'f' is {}, not a list"),
        ("ids", [None], "'f': id None is not text"),
        ("integer", "2.5", "'f' is '2.5', not a whole number"),
        ("integer", 2.5, "'f' is 2.5, not a whole number"),
        ("integer", "9" * 30, "'f' is '999999999999999999999999999999', which is too large a number"),
        ("integer", 10**20, "'f' is 100000000000000000000, which is too large a number"),
        ("integer", True, "'f' is True, not a whole number"),
        ("integer", float("nan"), "'f' is nan, not a whole number"),
        ("integer", float("inf"), "'f' is inf, not a whole number"),
        ("mapping", [], "'f' is [], not an object"),
        ("span", [1], "'f' is [1], not [start, end] in bytes"),
        ("span", [1, True], "'f' is [1, True], not [start, end] in bytes"),
        ("row", "x", "'f' is 'x', not an object"),
    ],
)
def test_a_wrong_value_is_named(ask, value, message):
    """Every kind of field refuses what it is not, and shows it."""
    with pytest.raises(InputError) as raised:
        getattr(row({"f": value}), ask)("f")
    assert message in str(raised.value)


@each(
    ("ask", "value", "wanted"),
    [
        ("integer", "-3", -3),
        ("integer", "2.0", 2),
        ("integer", 2.0, 2),
        ("id", 17, "17"),
        ("texts", "one", ("one",)),
        ("span", [1, 5], Span(1, 5)),
        ("span", None, None),
        ("ids", [1, "a"], ("1", "a")),
    ],
)
def test_a_right_value_is_taken(ask, value, wanted):
    """Numbers of CSV files are text, ids of JSON files may be numbers, and null is as good as absent."""
    assert getattr(row({"f": value}), ask)("f") == wanted


def test_a_number_is_finite():
    """JSON of Python may hold Infinity, which is not a confidence."""
    with pytest.raises(InputError, match="not a finite number"):
        row({"f": float("inf")}).number("f", default=None)
    assert row({"f": 1}).number("f", default=None) == 1.0
    assert row({}).number("f", default=None) is None


def test_the_first_name_that_is_there_counts():
    """Formats have current and legacy names for one field."""
    assert row({"b": "new"}).text("a", "b") == "new"


def test_all_mistakes_of_a_file_are_reported_at_once(tmp_path):
    """One pass reports every bad line and reads the others."""
    (tmp_path / "f.jsonl").write_text('{"id": 1}\n\nno json\n[1]\n{"id": ""}\n{"id": "x", "id": "y"}\n')
    reading = Reading()
    ids = []
    for record in reading.jsonl(tmp_path / "f.jsonl", "f.jsonl"):
        with record:
            ids.append(record.id("id"))
    assert ids == ["1"]
    with pytest.raises(Mistakes) as raised:
        reading.finish()
    assert [error.line for error in raised.value.errors] == [3, 4, 5, 6]
    assert str(raised.value).startswith("4 mistakes\nf.jsonl, line 3: is not valid JSON")


def test_long_lists_of_mistakes_are_cut():
    """A file of another kind gives twenty lines, not a million."""
    reading = Reading()
    reading.errors += [InputError("wrong", line=i) for i in range(100)]
    with pytest.raises(Mistakes) as raised:
        reading.finish()
    assert str(raised.value).endswith("and 80 more")


def test_an_unknown_key_is_reported_once(tmp_path):
    """A key that is unknown in every row is one note with a count."""
    rows = [{"id": i, "tpye": "x"} for i in range(3)]
    (tmp_path / "f.jsonl").write_text("\n".join(map(json.dumps, rows)))
    reading = Reading()
    for record in reading.jsonl(tmp_path / "f.jsonl", "f.jsonl"):
        with record:
            record.id("id")
            record.text("type", default="")
    [note] = reading.notes()
    assert note == "f.jsonl, line 1: unknown key 'tpye' (and in 2 more rows), ignored, did you mean 'type'?"


def test_csv_rows_have_their_lines(tmp_path):
    """A cell over two lines does not shift the lines after it, and a short row is a mistake."""
    (tmp_path / "f.csv").write_text('id,text\na,"two\nlines"\nb\nc,\n')
    reading = Reading()
    rows = list(reading.csv(tmp_path / "f.csv", "f.csv"))
    assert [record.text("text", default="-") for record in rows] == ["two\nlines", "-"]
    assert str(reading.errors[0]) == "f.csv, line 4: 1 columns instead of 2"


def test_nested_rows_say_their_path():
    """A mistake inside a list of a JSON file is found by its path."""
    reading = Reading()
    outer = Row(reading, {"queries": [{"id": "a"}, {"id": 1.5}, 3]}, "f.json")
    for record in outer.rows("queries"):
        with record:
            record.id("id")
    assert [str(error) for error in reading.errors] == [
        "f.json: queries[1]: 'id': id 1.5 is not text; ids are strings",
        "f.json: queries[2]: 3 is not an object",
    ]


@each(
    ("line", "record"),
    [
        ('{"a": 1, "b": "x"}', {"a": 1, "b": "x"}),
        ('{"a" : 1}', {"a": 1}),
        ('{"a": "10:30"}', {"a": "10:30"}),
        ('{"a": {"b": 1}}', {"a": {"b": 1}}),
        ("{}", {}),
    ],
)
def test_an_object_is_read_whichever_way_it_takes(line: str, record: dict[str, object]) -> None:
    """Colons in values, blanks before a colon and nested objects change nothing."""
    assert parse_json(line, "rows.jsonl", 1, strict=True) == record


@each(
    "line",
    ['{"a": 1, "a": 2}', '{"a": 1, "a" : 2, "b": 3}', '{"a:": 1, "a:": 2}', '{"b": {"a": 1, "a": 1}}'],
)
def test_a_repeated_key_is_refused_however_the_row_is_written(line: str) -> None:
    """The short way for flat rows loses no repeated key."""
    with pytest.raises(InputError, match="appears twice"):
        parse_json(line, "rows.jsonl", 1, strict=True)


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999"])
def test_a_flat_row_holds_finite_numbers_only(value: str) -> None:
    """The short way refuses what the long way refuses."""
    with pytest.raises(InputError, match="line 1"):
        parse_json(f'{{"a": {value}}}', "rows.jsonl", 1, strict=True)


@each(
    ("values", "plain"),
    [
        ({"id": "q", "grade": 2}, True),
        ({"id": "q"}, False),  # a required field is missing
        ({"id": "q", "grade": True}, False),  # a bool is not a number
        ({"id": "q", "grade": 2.0}, False),
        ({"id": "", "grade": 2}, False),
        ({"id": "\u00e9", "grade": 2}, False),
        ({"id": "q", "grade": 2, "typo": "x"}, False),
        ({"id": None, "grade": 2}, False),
    ],
)
def test_a_row_is_plain_only_if_no_field_needs_a_check(values: dict[str, object], plain: bool) -> None:
    """Everything that a reader would convert, refuse or report goes the long way."""
    row = Row(Reading(), values, "rows.jsonl", line=1)
    assert row.plain({"id": str, "grade": int}, {"id", "grade"}) == (values if plain else None)
