"""Judgments read in columns are those that the decoder reads, or are left to it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from each import each
from karat.core import JudgmentTable
from karat.files import take_plain
from karat.golden.formats._bare_judgments import decode_bare_judgments
from karat.golden.formats._plain import _BareJudgment, _Columns

FIELDS = ("query", "document", "grade")
IDS = st.text(st.sampled_from('abé漢 :{}[],"\\\n\x01'), max_size=12)
ROWS = st.lists(st.builds(lambda *row: dict(zip(FIELDS, row, strict=True)), IDS, IDS, st.integers(-2, 12)), max_size=8)
LINE = b'{"query": "q1", "document": "wifi", "grade": 3}'


def decode(data: bytes) -> JudgmentTable | None:
    """Return what the decoder reads; None if it refuses a row."""
    columns = _Columns()
    return columns.table() if take_plain(data, _BareJudgment, columns.add) else None


def show(table: JudgmentTable) -> list[Any]:
    columns = (table.query, table.target, table.grade, table.origin)
    return [table.queries, table.targets, table.origins, *((column.dtype, column.tolist()) for column in columns)]


@given(rows=ROWS, compact=st.booleans(), ascii_=st.booleans(), end=st.sampled_from([b"", b"\n"]))
def test_columns_are_what_the_decoder_reads(
    rows: list[dict[str, Any]], compact: bool, ascii_: bool, end: bytes
) -> None:
    """Whatever ids there are; those with an escape are left to the decoder."""
    separators = (",", ":") if compact else None
    lines = [json.dumps(row, separators=separators, ensure_ascii=ascii_).encode() for row in rows]
    data = b"\n".join(lines) + end
    table = decode_bare_judgments(data)
    if table is not None:
        expected = decode(data)
        assert expected is not None
        assert show(table) == show(expected)
    plain = [row for row in rows if row["query"] and row["document"] and row["grade"] >= 0]
    assert (table is not None) == (bool(rows) and len(plain) == len(rows) and b"\\" not in data)


CHANGES = st.tuples(st.integers(0, 150), st.binary(max_size=3), st.integers(0, 3))


@given(changes=st.lists(CHANGES, min_size=1, max_size=3))
@example(changes=[(45, b"", 0)])
def test_damaged_lines_are_never_read_otherwise(changes: list[tuple[int, bytes, int]]) -> None:
    """A byte that is lost, added or changed anywhere gives what the decoder reads, or nothing."""
    data = b"\n".join([LINE, LINE.replace(b"q1", b"q2"), LINE.replace(b"3}", b"12}")])
    for place, new, lost in changes:
        data = data[:place] + new + data[place + lost :]
    table = decode_bare_judgments(data)
    if table is not None:
        expected = decode(data)
        assert expected is not None
        assert show(table) == show(expected)


@each(
    "line",
    [
        LINE.replace(b"3}", b"03}"), LINE.replace(b"3}", b"3.0}"), LINE.replace(b"3}", b"-1}"), LINE + b" ",
        LINE.replace(b'"document"', b'"dokument"'), LINE.replace(b"wifi", b""), LINE.replace(b"wifi", b"\xff"),
        LINE.replace(b"3}", b'3, "source": "manual"}'), LINE.replace(b"wifi", b"wi\\u0066i"),
        b'{"document": "wifi", "query": "q1", "grade": 3}', LINE + b"\r", LINE + b"\n",
        LINE.replace(b"3}", b"1234567890}"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_unusual_is_left_to_the_decoder(line: bytes) -> None:
    assert decode_bare_judgments(b"\n".join([LINE, line, LINE])) is None
