"""The comment on a pull request: the verdict first, short enough, and found again by its mark."""

from __future__ import annotations

import re

import pytest

from each import each
from karat.reports import render_comment
from karat.reports._comment import COMMENT
from reports.documents import make_check, make_document, make_query, typed, without_baseline


def test_the_verdict_and_why_come_first() -> None:
    """Then the numbers and what did not pass; everything else is behind a title."""
    document = make_document(outcome="fail", checks=[make_check("min", "fail", reason="too low"), make_check()])
    document["recommendations"] = [{"rule": "r", "finding": "It fell", "advice": "look", "queries": ["q3"]}]
    mark, _, title, _, why, *_ = text = render_comment(typed(document)).splitlines()
    assert mark == "<!-- karat-report turns -->"
    assert title == "## ❌ FAIL: turns 1.0.0"
    assert why == "1 of 2 checks failed: RR@10"
    assert "Run new, 4 queries, 0 failed, against the baseline of 2026-11-01, by policy default." in text
    headings = [line for line in text if line.startswith("#") and not line.startswith("### Query")]
    assert headings == [title, "### Checks that did not pass", "### Recommendations"]
    assert [line for line in text if line.startswith("<details>")] == [
        f"<details><summary>{name}</summary>"
        for name in (
            "Queries that moved (3), the worst first", "Segments", "Differences from the baseline", "Distribution",
            "Configuration",
        )
    ]  # fmt: skip


def test_without_a_baseline_nothing_is_compared() -> None:
    """A first run says so, and has no differences."""
    text = render_comment(typed(without_baseline()))
    assert "## ⚠️ INCONCLUSIVE, which passes here (on\\_inconclusive = pass): turns 1.0.0\n" in text
    assert ", without a baseline, by policy" in text
    assert "Differences" not in text


@pytest.mark.parametrize("queries", [12, 3000])
def test_of_the_queries_that_moved_it_shows_the_worst_ten(queries: int) -> None:
    """The greatest losses first; one that failed as before is only among the failures."""
    rows = [make_query(f"q{i}", 0.5, 1.0, text="why " * 200) for i in range(queries)]
    rows[7], rows[8] = make_query("q7", 0.25, 1.0), make_query("q8", 0.0, 0.0, text="old")
    text = render_comment(typed(make_document(queries=rows)))
    assert f"<summary>Queries that moved (10 of {queries - 1:,}), the worst first</summary>" in text
    assert re.findall(r"### Query (q\d+):", text)[0] == "q7"
    assert text.count("### Query") == 10
    assert "### Query q8:" not in text
    assert "| q8 | old |" in text
    assert len(text.encode()) <= COMMENT


def test_what_to_do_with_an_intended_change_is_said() -> None:
    """Where the run is held against a baseline; and that a baseline was forced."""
    document = make_document(outcome="fail")
    document["baseline"]["forced"] = "new corpus"
    document["checks"] = [make_check("non_inferior", "fail", baseline=0.8)]
    text = render_comment(typed(document))
    assert "Intended? `karat eval .` and `karat baseline update . --force 'why'`" in text
    assert "against the baseline of 2026-11-01 (forced: new corpus), by policy" in text
    document["checks"] = [make_check("min", "fail")]
    assert "Intended?" not in render_comment(typed(document))
    document["checks"] = [
        make_check("min_gain_abs", "fail", baseline=0.8),
        make_check("max_drop_abs", "fail", baseline=0.8),
    ]
    assert "Intended?" not in render_comment(typed(document))  # who asks for a gain does not want a loss


@pytest.mark.slow
def test_what_is_too_long_is_cut_and_closed() -> None:
    """Whatever is in it, GitHub takes it, and nothing after it stays folded."""
    long = [make_query(f"q{i}", 0.0, 1.0, text="why " * 200, error="no " * 300) for i in range(200)]
    checks = [make_check("min", "fail", reason="because " * 200) for _ in range(300)]
    text = render_comment(typed(make_document(outcome="fail", queries=long, checks=checks)))
    assert len(text.encode()) <= COMMENT
    assert text.endswith("The rest is left out: it does not fit here.\n")
    assert text.count("<details>") == text.count("</details>")


@each("name", ["a b", "--> x", "é", "検", "", "a--b", "x -->"])
def test_no_name_ends_the_mark(name: str) -> None:
    """The mark is a comment whatever the golden set is called, and another one for another name."""

    def mark(name: str) -> str:
        document = make_document()
        document["golden"]["name"] = name
        return render_comment(typed(document)).splitlines()[0]

    assert re.fullmatch(r"<!-- karat-report [A-Za-z0-9._-]+ -->", mark(name)) or not name
    assert "-->" not in mark(name)[:-3]
    assert len({mark(other) for other in ("a b", "a-b", "a c", name + "é", name + "ü")}) == 5
