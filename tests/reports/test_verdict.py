"""The words of a verdict: the same in every format, and never better than what is known."""

from __future__ import annotations

from each import each
from karat.reports import (
    render_comment,
    render_github,
    render_html,
    render_junit,
    render_markdown,
    render_summary,
    render_text,
)
from reports.documents import make_check, make_document, typed, without_baseline

EVERY = (render_text, render_markdown, render_comment, render_summary, render_github, render_html, render_junit)
DROP = {"baseline": 0.8, "difference": -0.05, "limit": 0.04, "low": -0.11, "n": 30, "needed": 120}


@each("render", EVERY)
def test_an_inconclusive_verdict_says_what_is_not_known_and_never_that_it_may_ship(render) -> None:  # type: ignore[no-untyped-def]
    """What was observed, how much worse it could be, what would decide, and what on_inconclusive makes of it."""
    check = make_check("non_inferior", "inconclusive", reason="neither shown nor ruled out", **DROP)
    text = render(typed(make_document(outcome="inconclusive", checks=[check]))).replace("\\_", "_").lower()
    assert "which passes here (on_inconclusive = pass)" in text
    assert "it is not known whether rr@10 got worse by more than is tolerated" in text
    assert "rr@10 is worse by 0.05, and 0.04 is tolerated" in text
    assert "it could be worse by as much as rr@10 0.11" in text
    assert "about 120 queries (to show a drop of 0.05 in rr@10)" in text
    assert "may ship" not in text
    assert "✅ inconclusive" not in text


@each("render", EVERY)
@each(
    ("numbers", "aim"),
    [
        ({"difference": -0.05, "low": -0.11}, "show a drop of 0.05"),
        ({"difference": -0.03, "low": -0.11}, "rule out a drop of 0.04"),
        ({"difference": 0.05, "low": None, "high": 0.11}, "show a rise of 0.05"),
        ({"difference": 0.03, "low": None, "high": 0.11}, "rule out a rise of 0.04"),
    ],
)
def test_a_number_of_queries_says_which_drop_it_is_for(render, numbers, aim) -> None:  # type: ignore[no-untyped-def]
    """A drop beyond the tolerance is to be shown, a smaller one ruled out: two numbers that must not be mixed up."""
    check = make_check("non_inferior", "inconclusive", reason="unknown", **DROP | numbers)
    text = render(typed(make_document(outcome="inconclusive", checks=[check])))
    assert f"about 120 queries would {aim}" in text or f"about 120 queries (to {aim} in RR@10" in text


def test_a_number_of_queries_says_what_it_assumes() -> None:
    """A drop that is as large as observed, or none."""
    for difference, assumed in ((-0.03, "the true one is 0.03"), (0.01, "there is none")):
        check = make_check("non_inferior", "inconclusive", reason="unknown", **DROP | {"difference": difference})
        text = render_text(typed(make_document(outcome="inconclusive", checks=[check])))
        assert f"about 120 queries (to rule out a drop of 0.04 in RR@10 if {assumed})" in text


@each("render", EVERY)
def test_an_observed_drop_is_not_below_a_green_tick(render) -> None:  # type: ignore[no-untyped-def]
    """A rule that only fails for a significant drop passes, and the drop stands in the verdict all the same."""
    check = make_check("significant_drop", "pass", reason="p = 0.2", **DROP | {"needed": None})
    text = render(typed(make_document(outcome="pass", checks=[check])))
    assert "RR@10 is worse by 0.05, and 0.04 is tolerated" in text or "worse by more than is tolerated" in text
    assert "✅ PASS by" not in text
    assert "## ✅" not in text
    assert 'class="verdict pass"' not in text
    if render is render_junit:
        assert 'skipped="1"' in text
    if render is render_github:
        assert "::warning title=karat pass%2C but worse than tolerated%3A RR@10::" in text


@each("render", EVERY)
def test_a_failed_run_is_no_decision(render) -> None:  # type: ignore[no-untyped-def]
    """It is neither a pass nor a failure of quality, and has an error in JUnit."""
    check = make_check("failed", "error", metric="failed", reason="28 of 30 queries failed", current=28, limit=1)
    document = make_document(outcome="error", checks=[check, make_check()])
    document["verdict"] |= {"exit_code": 3, "passed": False}
    text = render(typed(document))
    assert "no decision" in text.lower()
    assert "28 of 30 queries failed" in text
    assert "may ship" not in text
    if render is render_junit:
        assert 'errors="1"' in text


def test_a_first_run_is_not_called_a_pass() -> None:
    """Without a baseline nothing is known of a drop."""
    text = render_text(typed(without_baseline()))
    assert "what would decide: a baseline" in text
    assert "may ship" not in text


def test_a_policy_of_karat_toml_says_what_it_changes() -> None:
    """The verdict names the policy that it extends, and what differs from that."""
    document = make_document()
    document["verdict"] |= {
        "policy": "karat.toml",
        "extends": "fit",
        "changes": ["R@5: at least 0.7 (was: at least 0.8)"],
    }
    assert "PASS by policy karat.toml (fit, except R@5): it may ship" in render_text(typed(document))


def test_a_check_on_questions_fails_by_itself() -> None:
    """Annotations and test cases say the same as the exit code: the run fails, another inconclusive check does not."""
    checks = [
        make_check("removed", "inconclusive", metric="removed", reason="6 of 50 are gone", limit=1),
        make_check("non_inferior", "inconclusive", reason="unknown", **DROP),
    ]
    plain = make_document(outcome="inconclusive", checks=checks)
    plain["verdict"] |= {"passed": False, "exit_code": 4, "on_inconclusive": "pass"}
    document = typed(plain)
    assert "which fails here (on_changed_questions = fail)" in render_text(document)
    annotations = render_github(document).splitlines()
    assert [line.split(" ")[0] for line in annotations if "inconclusive%3A" in line] == ["::error", "::warning"]
    cases = render_junit(document)
    assert cases.count("<failure") == cases.count("<skipped") == 1
