"""The queries as CSV."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.reports import render_csv
from karat.reports._csv import cell
from reports.documents import ATTACKS, attacked, make_document, make_query


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), strict=True))


def test_a_row_has_scores_baseline_and_change() -> None:
    """Numbers are numbers, lists are joined, a query without a baseline has empty cells."""
    made = make_document()
    made["queries"][0] = make_query("q1", 1.0, ms=None)
    first, _, third, _ = rows(render_csv(made))
    assert (third["query"], third["RR@10"], third["RR@10 baseline"], third["RR@10 change"]) == (
        "q3",
        "0.5",
        "0.75",
        "-0.25",
    )
    assert (third["found"], third["ms"], third["category"]) == ("yes", "12.0", "prices")
    assert (third["retrieved"], third["expected"]) == ("x1; d-q3; x3; x4; x5", "d-q3")
    assert (first["RR@10 baseline"], first["RR@10 change"], first["ms"]) == ("", "", "")


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_cell_is_a_formula_and_no_line_a_command(attack: str) -> None:
    """No text begins like a formula, every query is one line, and every line begins with a quotation mark."""
    text = render_csv(attacked(attack))
    assert len(text.splitlines()) == 3
    assert all(line.startswith('"') for line in text.splitlines())
    for row in rows(text):
        for name, value in row.items():
            assert value[:1] not in ("=", "@", "+", "\t", "\r"), name
            assert value[:1] != "-" or name == "RR@10 change"
    text.encode()


@given(st.text())
def test_a_cell_is_never_a_formula(text: str) -> None:
    """Whatever comes, also white space or signs of other scripts before it."""
    assert not cell(text).startswith(
        ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", " ")
    )


def test_the_same_document_gives_the_same_bytes() -> None:
    """The day is no part of it."""
    assert render_csv(make_document()) == render_csv(make_document(created="2027-01-01"))
