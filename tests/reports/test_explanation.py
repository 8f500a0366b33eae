"""What a failed test or an exception says of checks, from the document alone."""

from __future__ import annotations

import pytest

from each import each
from karat.reports import explain_checks, render_refusal
from reports.documents import ATTACKS, attacked, make_check, make_document, make_query, typed, without_baseline


def test_a_fall_names_its_rule_numbers_and_losers() -> None:
    """The queries follow once for both checks of a metric, the worst first and then by id."""
    fall = make_check("non_inferior", "fail", reason="dropped", baseline=0.8, difference=-0.05, p=0.02, n=4, needed=90)
    document = typed(make_document(outcome="fail", checks=[make_check("min", "fail", reason="too low"), fall]))
    assert render_refusal(document).splitlines() == [
        "fail by policy default: 2 of 2 checks",
        "RR@10, at least 0.5: too low",
        "  current 0.7500",
        "RR@10, not worse by more than 0.5: dropped",
        "  current 0.7500, baseline 0.8000, change -0.0500, p 0.02, 4 queries, "
        "about 90 would rule out a drop of 0.5 if the true one is 0.05",
        "  lost most (2 of 2):",
        "    q3  0.750 to 0.500  What of q3?",
        "    q4  0.750 to 0.500  What of q4?",
    ]


@pytest.mark.parametrize(
    ("kind", "metric", "numbers"),
    [
        ("empty", "empty", "current 4, baseline 2, 36 queries"),
        ("removed", "removed", "current 4, baseline 2, 36 queries"),
        ("slow", "latency.p95", "current 4.0 ms, baseline 2.0 ms, 36 queries"),
    ],
)
def test_operational_checks_count_queries_and_milliseconds(kind: str, metric: str, numbers: str) -> None:
    """Four queries are 4, and not 4.0000."""
    check = make_check(kind, "fail", metric=metric, reason="why", current=4.0, baseline=2.0, n=36)
    assert explain_checks(typed(make_document()), typed(make_document(checks=[check])).checks).splitlines()[1] == (
        f"  {numbers}"
    )


def test_without_a_baseline_the_lowest_are_named() -> None:
    """Inconclusive checks are explained if none failed."""
    assert render_refusal(typed(without_baseline())).splitlines() == [
        "inconclusive by policy default: 1 of 2 checks",
        "RR@10, not worse: there is no baseline",
        "  current 0.7500",
        "  lowest (4 of 4):",
        "    q3  0.500  What of q3?",
        "    q4  0.500  What of q4?",
        "    q1  1.000  What of q1?",
        "    q2  1.000  What of q2?",
    ]


def test_a_segment_names_only_its_queries() -> None:
    """Those whose ids the segment has."""
    document = make_document(outcome="fail", checks=[make_check("min", "fail", where={"category": "prices"})])
    document["segments"][0]["ids"] = ["q1", "q4"]
    text = render_refusal(typed(document))
    assert "RR@10 category=prices, at least 0.5: because\n" in text
    assert text.endswith("  lost most (1 of 1):\n    q4  0.750 to 0.500  What of q4?")


def test_a_query_that_must_pass_shows_what_was_expected_and_found() -> None:
    """Each document once; a query that failed shows its error instead of its text."""
    must = make_check("must_pass", "fail", query="q3", metric=None, current=None, limit=None, reason="nothing")
    document = typed(make_document(outcome="fail", checks=[must]))
    assert explain_checks(document, document.checks).splitlines() == [
        "q3, must find something relevant at any rank: nothing",
        "  What of q3?",
        "  expected: d-q3",
        "  found: x1, d-q3, x3, x4, x5",
    ]
    broken = [make_query("q3", 0.0, error="Timeout", hits=[])]
    text = render_refusal(typed(make_document(outcome="fail", checks=[must], queries=broken)))
    assert text.endswith("  failed: Timeout\n  expected: d-q3\n  found: nothing")


@each("attack", ATTACKS)
def test_nothing_acts_on_a_log(attack: str) -> None:
    """Every line is printable, and there are as many as with harmless words."""
    text, calm = render_refusal(typed(attacked(attack))), render_refusal(typed(attacked("calm")))
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.split("\n")) == len(calm.split("\n"))
