"""What new documents would add, as Markdown."""

from __future__ import annotations

from click.testing import CliRunner

from karat.cli._main import cli
from karat.core import UsageError
from karat.reports import render_gain
from karat.schema import Gain, GainDocument, GainedMeasure, GainedQuery

PAGE = """# Knowledge gain

**sauna** would add most: +0.2500.

**System**: bm25, 4 queries, k = 10\x20\x20
**Gain**: the weighted mean of the changes of 1 x R@5

- one note

## By document

| Document | Gain | R@5 | Novelty | Of the nearest | Chunks | Shown | Helps | Hurts |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| sauna | +0.2500 | +0.2500 | 0.2500 | - | 1 | 2 | 1 | 1 |
| song | -0.2500 | -0.2500 | 0.2500 | - | 1 | 2 | 0 | 1 |
| all 2 together | +0.2500 | +0.2500 | 0.2500 | - | 1 | 2 | 1 | 1 |

## By query

| Query | Document | Change |
| --- | --- | --- |
| q2 | song | -1.0000 |
| q2 | sauna | -0.2500 |
| q1 | sauna | +0.5000 |
"""


def make_gain(name: str, change: float, *queries: tuple[str, float]) -> Gain:
    rows = [GainedQuery(query=query, change=value) for query, value in queries]
    return Gain(
        documents=(name,),
        gain=change,
        measures=(GainedMeasure(measure="R@5", before=0.5, after=0.5 + change, change=change, queries=4),),
        novelty_mean=0.25,
        novelty_max=None,
        chunks=1,
        shown=2,
        helps=tuple(row for row in rows if row.change > 0),
        hurts=tuple(row for row in rows if row.change < 0),
    )


def make_document(*gains: Gain) -> GainDocument:
    return GainDocument(
        project="p", system="bm25", queries=4, k=10, weights={"R@5": 1.0}, novelty_weight=0.0, novelty_form="mean",
        documents=gains, together=gains[0], notes=("one note",),
    )  # fmt: skip


def test_the_report_has_every_document_and_every_query() -> None:
    """By hand: each document in a row, and each query beside what changes it, the greatest change first."""
    sauna = make_gain("sauna", 0.25, ("q1", 0.5), ("q2", -0.25))
    assert render_gain(make_document(sauna, make_gain("song", -0.25, ("q2", -1.0)))) == PAGE


def test_names_are_text_and_nothing_is_praised_that_adds_nothing() -> None:
    page = render_gain(make_document(make_gain("a|b <script> *c*", 0.0)))
    assert "No document would add anything; the first is a\\|b &lt;script&gt; \\*c\\*: +0.0000." in page
    assert "By query" not in page
    assert "<script>" not in page


def test_markdown_and_json_exclude_each_other() -> None:
    wrong = CliRunner().invoke(cli, ["gain", ".", "--documents", "x", "--json", "--markdown"])
    assert isinstance(wrong.exception, UsageError)
    assert str(wrong.exception) == "--json and --markdown: choose one of them"
