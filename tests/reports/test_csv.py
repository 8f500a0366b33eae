"""The queries as CSV."""

from __future__ import annotations

import csv
import io

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.reports import render_csv
from karat.reports._csv import disarm
from reports.documents import ATTACKS, attacked, make_document, make_query, typed


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), strict=True))


def test_a_row_has_scores_baseline_and_change() -> None:
    """Numbers are numbers, lists are joined, a query without a baseline has empty cells."""
    document = make_document()
    document["queries"][0] = make_query("q1", 1.0, ms=None)
    first, _, third, _ = rows(render_csv(typed(document)))
    assert (third["query"], third["RR@10"], third["RR@10 baseline"], third["RR@10 change"]) == (
        "q3",
        "0.5",
        "0.75",
        "-0.25",
    )
    assert (third["found"], third["ms"], third["category"]) == ("yes", "12.0", "prices")
    assert (third["retrieved"], third["expected"]) == ("x1; d-q3; x3; x4; x5", "d-q3")
    assert (first["RR@10 baseline"], first["RR@10 change"], first["ms"]) == ("", "", "")


@each("attack", ATTACKS)
def test_no_cell_is_a_formula_and_no_line_a_command(attack: str) -> None:
    """No text begins like a formula, every query is one line, and every line begins with a quotation mark."""
    text = render_csv(typed(attacked(attack)))
    assert len(text.splitlines()) == 3
    assert all(line.startswith('"') for line in text.splitlines())
    for row in rows(text):
        for name, value in row.items():
            assert value[:1] not in ("=", "@", "+", "\t", "\r"), name
            assert value[:1] != "-" or name == "RR@10 change"
    text.encode()


@pytest.mark.slow
@given(st.text())
def test_a_cell_is_never_a_formula(text: str) -> None:
    """Whatever comes, also white space or signs of other scripts before it."""
    assert not disarm(text).startswith(
        ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", " ")
    )


def test_lines_and_fields_are_as_rfc_4180_says() -> None:
    """Lines end with CR and LF, the last too; quotation marks are doubled; every line has the fields of the first."""
    document = make_document(queries=[make_query("a", 1.0, text='say "x", then\ny'), make_query("b", 0.5, 1.0)])
    text = render_csv(typed(document))
    assert text.endswith("\r\n")
    head, first, second, rest = text.split("\r\n")
    assert rest == ""
    assert first.startswith('"a","say ""x"", then y",')
    assert second == (
        '"b","What of b?","prices","","","","yes",12.0,0.5,1.0,-0.5,"x1; d-b; x3; x4; x5","d-b"'
    )  # fmt: skip
    assert {len(row) for row in csv.reader([head, first, second], strict=True)} == {13}


def test_two_readers_read_the_same() -> None:
    """Python's and polars', of all attacks; numbers are numbers, and nothing is null but a number that is not there."""
    queries = [make_query(f"{i} {text}", 0.5, None if i % 2 else 1.0, text=text) for i, text in enumerate(ATTACKS)]
    text = render_csv(typed(make_document(queries=queries)))
    read = polars.read_csv(io.BytesIO(text.encode()), infer_schema=False).fill_null("")
    assert read.to_dicts() == rows(text)
    assert [row["text"] for row in rows(text)] == [disarm(attack) for attack in ATTACKS]
    table = polars.read_csv(io.BytesIO(text.encode()))
    assert table["RR@10 change"].to_list() == [None if i % 2 else -0.5 for i in range(len(ATTACKS))]
    assert table["ms"].dtype == polars.Float64
    assert table["text"].dtype == polars.String


def test_the_same_document_gives_the_same_bytes() -> None:
    """The day is no part of it."""
    assert render_csv(typed(make_document())) == render_csv(typed(make_document(created="2027-01-01")))
