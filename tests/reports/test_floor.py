"""The lexical floor in every report."""

from __future__ import annotations

import re
from typing import Any

from each import each
from karat.reports import render_html, render_json, render_markdown, render_text
from reports.documents import make_document, typed


def with_floor(*ratios: float | None, queries: int = 4, note: str = "") -> Any:
    advice = {0.9: "PAUSE", 0.6: "RATIONALIZE", 0.2: "PROCEED", None: ""}
    rows = [
        {"measure": name, "floor": 0.5, "full": 0.6, "ratio": ratio, "advice": advice[ratio]}
        for name, ratio in zip(("RR@10", "R@5"), ratios, strict=False)
    ]
    return typed(make_document(lexical_floor={"queries": queries, "measures": rows, "note": note}))


@each(
    ("document", "line"),
    [
        (with_floor(0.9, 0.9), "reach 90% of RR@10, 90% of R@5: the rest of the system adds little"),
        (with_floor(0.9, 0.2), "reach 90% of RR@10 (the rest adds little), 20% of R@5 (the rest is needed)"),
        (
            with_floor(0.6, queries=3),
            "reach 60% of RR@10 (1 query not recorded): check that the rest of the system is worth its cost",
        ),
        (with_floor(None), "cannot be compared with a system that reaches nothing"),
        (with_floor(note="the lexical channel is the only one"), "The system searches by keywords only."),
    ],
)
def test_it_is_one_line_of_a_terminal_and_of_the_page(document: Any, line: str) -> None:
    """With the advice once if it is the same for all measures, or why nothing is known."""
    assert f"\nkeywords alone: {line}\n" in render_text(document)
    assert f"<dt>Keywords alone</dt><dd>{line}</dd>" in render_html(document)


def test_it_is_a_table_of_the_pages_with_how_to_read_it() -> None:
    """In Markdown and HTML; JSON has it all."""
    document = with_floor(0.9)
    assert "## Keywords alone\n\n| Metric | Keywords alone | Whole system | Ratio | The rest |\n" in render_markdown(
        document
    )
    assert "| RR@10 | 0.5000 | 0.6000 | 0.90 | adds little |\n\nKeywords alone are" in render_markdown(document)
    assert re.search(
        r"<code>RR@10</code></th><td>0.5000</td><td>0.6000</td><td>0.90</td><td>adds little", render_html(document)
    )
    assert '"lexical_floor"' in render_json(document)
    assert "keywords" not in render_text(with_floor(note="no lexical channel recorded")), "most systems record none"
    assert "The run has no list of a keyword search alone" in render_markdown(
        with_floor(note="no lexical channel recorded")
    )


def test_a_document_of_an_older_karat_says_nothing() -> None:
    """It does not tell whether there is a lexical channel."""
    document = typed(make_document())
    assert all("exical floor" not in render(document) for render in (render_text, render_markdown, render_html))
