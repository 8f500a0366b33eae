"""The report as Markdown: what it says, and that no content can act."""

from __future__ import annotations

import re
from collections.abc import Callable

from each import each
from karat.reports import render_comment, render_markdown
from karat.reports._markdown import markdown
from karat.schema import DecisionDocument
from reports.documents import (
    ATTACKS,
    attacked,
    conclude,
    make_check,
    make_document,
    make_measure,
    make_query,
    typed,
    without_baseline,
)

SECTIONS = [
    "Metrics Summary",
    "Differences from the baseline",
    "Distribution",
    "Segments",
    "Per-Query Analysis",
    "Failures (0)",
    "Recommendations",
]


def headings(text: str) -> list[str]:
    return re.findall(r"^## (.+)$", text, re.MULTILINE)


def cells(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line))


@each("render", [render_markdown, render_comment])
def test_the_threshold_is_that_of_every_rule(render: Callable[[DecisionDocument], str]) -> None:
    """A rule on the change has one, too; a rule on a segment is about another number."""
    checks = [
        make_check("min", "pass", limit=0.4),
        make_check("non_inferior", "fail", baseline=0.8, difference=-0.05, limit=0.0229, low=-0.11),
    ]
    text = render(typed(make_document(checks=checks)))
    (row,) = [line for line in text.splitlines() if line.startswith("| RR@10 |") and "not worse" in line][:1]
    assert ", not worse by more than 0.0229 |" in row or "| not worse by more than 0.0229 |" in row


def test_the_head_has_date_golden_set_baseline_and_configuration() -> None:
    """Title, day, versions and the names of runs come first; what changed in the system says what it was."""
    text = render_markdown(typed(make_document()))
    assert text.startswith("# RAG Evaluation Report\n\n**Date**: 2026-11-16  \n")
    assert "**Golden set**: turns 1.0.0, 4 queries, 9 documents, 4 judgments (fedcba)" in text
    assert "**Baseline**: old, recorded 2026-11-01" in text
    assert "**Run**: new, 4 queries, 0 failed" in text
    assert "- chunk.size: 256 (was 128)\n" in text


def test_the_sections_stand_in_their_order() -> None:
    """A run that passes has all sections but that of the checks that did not pass."""
    assert headings(render_markdown(typed(make_document()))) == SECTIONS


def test_bounds_are_a_section_where_documents_are_unjudged() -> None:
    """Where the best is only a bound it says so; without bounds there is no section."""
    exact = {"worst": 0.7, "best": 0.9, "exact": True, "unjudged": 12}
    measures = [make_measure(bounds=exact), make_measure("nDCG@5", bounds={**exact, "exact": False})]
    text = render_markdown(typed(make_document(measures=measures)))
    assert "Unjudged documents" in headings(text)
    assert "| RR@10 | 0.7000 | 0.7500 | 0.9000 | 12 |\n| nDCG@5 | 0.7000 | 0.7500 | up to 0.9000 | 12 |\n" in text


@each(
    ("measure", "checks", "row"),
    [
        (make_measure(now=0.84, was=0.82), [], "| RR@10 | 0.8400 | 0.8200 | 0.5 | ✅ PASS (+2.4%) |"),
        (
            make_measure(now=0.66, was=0.68),
            [make_check("non_inferior")],
            "| RR@10 | 0.6600 | 0.6800 | 0.5, not worse by more than 0.5 | ⚠️ DEGRADED (-2.9%, within tolerance) |",
        ),
        (
            make_measure(now=0.66, was=0.68),
            [make_check("non_inferior", "inconclusive")],
            "| RR@10 | 0.6600 | 0.6800 | 0.5, not worse by more than 0.5 | ⚠️ DEGRADED (-2.9%, inconclusive) |",
        ),
        (
            make_measure(now=0.66, was=0.68),
            [make_check()],
            "| RR@10 | 0.6600 | 0.6800 | 0.5 | ⚠️ DEGRADED (-2.9%, no rule on its fall) |",
        ),
        (make_measure(now=0.4, was=0.8, status="FAIL"), [], "| RR@10 | 0.4000 | 0.8000 | 0.5 | ❌ FAIL (-50.0%) |"),
        (make_measure(now=0.4, was=0.0, floor=None), [], "| RR@10 | 0.4000 | 0.0000 | - | ✅ PASS |"),
    ],
)
def test_a_row_has_its_state_and_signed_change(measure: dict, checks: list, row: str) -> None:
    """PASS, DEGRADED with what the gate makes of it, or FAIL, each with the change in percent of the baseline."""
    assert row + "\n" in render_markdown(typed(make_document(measures=[measure], checks=checks)))


def test_latency_is_held_against_its_rule() -> None:
    """A limit on p95 gives the row its threshold and state; without one there is none."""
    checks = [make_check("max", "fail", metric="latency.p95", current=12.0, limit=10)]
    text = render_markdown(typed(make_document(checks=checks, outcome="fail")))
    assert "| Latency p95 | 12.0 ms | 12.0 ms | 10 ms | ❌ FAIL (+0.0%) |" in text
    assert "| Latency p50 | 12.0 ms | 12.0 ms | - | ⬜ UNCHECKED (+0.0%) |" in text


def test_the_overall_line_says_what_it_rests_on() -> None:
    """Pass names what fell, fail what failed, inconclusive what is not known."""
    assert (
        "**Overall**: ✅ PASS by policy default (it may ship; 2 checks, none failed; RR@10 fell within tolerance)\n"
        in render_markdown(typed(make_document()))
    )
    failed = make_document(outcome="fail", checks=[make_check("min", "fail"), make_check()])
    assert "**Overall**: ❌ FAIL by policy default (1 of 2 checks failed: RR@10)\n" in render_markdown(typed(failed))
    first = render_markdown(typed(without_baseline()))
    assert (
        "(there is no baseline yet, so it is not known whether RR@10 got worse; what would decide: a baseline)" in first
    )
    assert "| RR@10 | 0.7500 | - | 0.5 | ⚠️ INCONCLUSIVE |" in first
    assert "Differences" not in first


def test_differences_and_distribution_are_those_of_the_document() -> None:
    """Change, interval, p with its mark, wins, losses and ties; the spread is computed from the values."""
    text = render_markdown(typed(make_document()))
    assert "| RR@10 | 0.7500 | 0.8000 | -0.0500 | -0.1000 to +0.0100 | 0.04 \\* | 1 | 2 | 1 |" in text
    assert "| RR@10 | 4 | 0.7500 | 0.5000 to 1.0000 | 0.2887 | 0.7500 | 1.0000 | 0.5000 | 1.0000 |" in text
    assert "| prices | 4 | 0.7500 (-0.0500) |" in text


def test_a_query_shows_what_came_and_what_was_expected() -> None:
    """Relevant hits are bold, expected documents have their rank, scores say how they moved."""
    text = render_markdown(typed(make_document()))
    block = text[text.index("### Query q3") : text.index("### Query q4")]
    assert block == (
        "### Query q3: What of q3?\n\n- Retrieved: x1, **d-q3**, x3, x4, x5\n- Expected: d-q3 (rank 2)\n"
        "- RR@10: 0.500 (was 0.750, worse)\n- Latency: 12.0 ms\n\n"
    )


def test_where_less_is_better_a_fall_is_better() -> None:
    """The word follows the direction of the measure."""
    text = render_markdown(typed(make_document(measures=[make_measure(lower_is_better=True)])))
    assert "- RR@10: 0.500 (was 0.750, better)" in text


def test_failures_are_counted_and_say_why() -> None:
    """An error, nothing found, a must-pass that is missed, and RR below 0.3, each in its words."""
    queries = [
        make_query("q1", 1.0),
        make_query("q2", 0.0),
        make_query("q3", 0.2),
        make_query("q4", 0.0, error="Timeout: 3 s"),
    ]
    must = make_check("must_pass", "fail", query="q1", metric="nDCG@5", reason="0.2000 is below 0.5")
    text = render_markdown(typed(make_document(queries=queries, checks=[must], outcome="fail")))
    assert "## Failures (4)\n" in text
    assert "| q1 | What of q1? | must pass: 0.2000 is below 0.5 |" in text
    assert "| q2 | What of q2? | nothing relevant was found |" in text
    assert "| q3 | What of q3? | RR@10 0.20 is below 0.3 |" in text
    assert "| q4 | What of q4? | failed: Timeout: 3 s |" in text
    limited = make_document(queries=queries)
    limited["verdict"]["list_below"] = {"RR@10": 0.1}
    assert "## Failures (2)\n" in render_markdown(typed(conclude(limited)))


def test_what_does_not_fit_at_all_is_cut_and_said() -> None:
    """A limit that even the tables exceed is kept."""
    text = render_markdown(typed(make_document()), limit=1000)
    assert len(text.encode()) <= 1000
    assert text.endswith("\n\nThe rest is left out: it does not fit here.\n")


@each("render", [render_markdown, render_comment])
@each("attack", ATTACKS)
def test_no_content_can_act(attack: str, render: Callable[[DecisionDocument], str]) -> None:
    """Whatever the words are: same sections, same columns, no HTML but ours, no mention, nothing at a line's start."""
    text, calm = render(typed(attacked(attack))), render(typed(attacked("calm")))
    assert len(headings(text)) == len(headings(calm))
    assert len(text.splitlines()) == len(calm.splitlines())
    for line, other in zip(text.splitlines(), calm.splitlines(), strict=True):
        assert cells(line) == cells(other)
        assert line[:2] == other[:2]
    tags = set(re.findall(r"<[^>]*>", text))
    assert {tag for tag in tags if not tag.startswith("<!-- karat-report")} == {
        "<details>", "</details>", "<summary>", "</summary>"
    }  # fmt: skip
    assert not re.search(r"(?<![\w\\])@[A-Za-z]", text)
    assert not re.search(r"(?<!\\)`|(?<!\\)\[|https?://|##\[", text)
    text.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)


def test_escaping_keeps_the_words() -> None:
    """What is shown after the escapes are undone is what was there."""
    assert markdown("a|b `c` <d> #1 @me x@y $z") == "a\\|b \\`c\\` &lt;d&gt; \\#&#8203;1 @&#8203;me x@y \\$z"
    assert markdown("a@b.example GH-7 :tada: 10:30") == ("a@&#8203;b.example GH-&#8203;7 :&#8203;tada: 10:30")
    assert markdown("see https://x.example and www.y.example") == (
        "see https:/&#8203;/x.example and www&#8203;.y.example"
    )


def test_the_same_document_gives_the_same_bytes_apart_from_the_day() -> None:
    """Only the line of the day differs between two days."""
    first, other = (render_markdown(typed(make_document(created=day))) for day in ("2026-11-16", "2026-11-17"))
    assert render_markdown(typed(make_document())) == first
    assert first.replace("2026-11-16", "2026-11-17") == other


def test_what_is_too_much_for_a_table_is_counted() -> None:
    """A hundred checks and failures are shown, the others counted; without segments and latency there are no rows."""
    queries = [make_query(f"q{i}", 0.0) for i in range(120)]
    checks = [make_check("must_pass", "fail", query=f"q{i}", metric=None, limit=None) for i in range(120)]
    document = make_document(queries=queries, checks=checks, segments=[], outcome="fail")
    document["latency"]["stages"] = {}
    text = render_markdown(typed(document))
    assert text.count("\n20 more are left out.\n") == 2
    assert "## Segments" not in text
    assert "Latency p" not in text
    assert "and 110 more)" in text


def test_a_query_with_an_error_shows_it() -> None:
    """Where nothing came, what the system said stands in its place; a query without a time has none."""
    query = make_query("q1", 0.0, error="Timeout", hits=[], expected=[], ms=None)
    text = render_markdown(typed(make_document(queries=[query])))
    assert "- Failed: Timeout\n- Retrieved: nothing\n- Expected: nothing\n- RR@10: 0.000\n\n## Failures (1)\n" in text
