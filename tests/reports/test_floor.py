"""The lexical floor in every report."""

from __future__ import annotations

import re
from typing import Any

import pytest

from karat.reports import render_html, render_json, render_markdown, render_text
from reports.documents import make_document, typed


def with_floor(*ratios: float | None, queries: int = 4, note: str = "") -> Any:
    advice = {0.9: "PAUSE", 0.6: "RATIONALIZE", 0.2: "PROCEED", None: ""}
    rows = [
        {"measure": name, "floor": 0.5, "full": 0.6, "ratio": ratio, "advice": advice[ratio]}
        for name, ratio in zip(("RR@10", "R@5"), ratios, strict=False)
    ]
    return typed(make_document(lexical_floor={"queries": queries, "measures": rows, "note": note}))


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (with_floor(0.9, 0.9), "words alone reach 90% of RR@10, 90% of R@5: PAUSE, since words nearly do it"),
        (with_floor(0.9, 0.2), "words alone reach 90% of RR@10 (PAUSE), 20% of R@5 (PROCEED)"),
        (
            with_floor(0.6, queries=3),
            "words alone reach 60% of RR@10 (1 query not recorded): "
            "RATIONALIZE, since the rest has to be worth its cost",
        ),
        (with_floor(None), "words alone cannot be compared with a system that reaches nothing"),
        (with_floor(note="no lexical channel recorded"), "no lexical channel recorded"),
    ],
)
def test_it_is_one_line_of_a_terminal_and_of_the_page(document: Any, line: str) -> None:
    """With the advice once if it is the same for all measures, or why nothing is known."""
    assert f"\nlexical floor: {line}\n" in render_text(document)
    assert f"<dt>Lexical floor</dt><dd>{line}</dd>" in render_html(document)


def test_it_is_a_table_of_the_pages_with_how_to_read_it() -> None:
    """In Markdown and HTML; JSON has it all."""
    document = with_floor(0.9)
    assert "## Lexical floor\n\n| Metric | Words alone | Whole system | Ratio | Advice |\n" in render_markdown(document)
    assert "| RR@10 | 0.5000 | 0.6000 | 0.90 | PAUSE |\n\nWords alone are" in render_markdown(document)
    assert re.search(
        r"<code>RR@10</code></th><td>0.5000</td><td>0.6000</td><td>0.90</td><td>PAUSE", render_html(document)
    )
    assert '"lexical_floor"' in render_json(document)
    assert "no lexical channel recorded\n" in render_markdown(with_floor(note="no lexical channel recorded"))


def test_a_document_of_an_older_karat_says_nothing() -> None:
    """It does not tell whether there is a lexical channel."""
    document = typed(make_document())
    assert all("exical floor" not in render(document) for render in (render_text, render_markdown, render_html))
