"""Rules on a change compare a query with itself: means over different queries differ although nothing changed."""

from __future__ import annotations

import pytest
from gating import only, run_of

from each import each
from karat.evaluation import Evaluation
from karat.gate import Rule


def scored(*values: float | None) -> Evaluation:
    """Return a run with these values of q1, q2 and so on; a query may have none."""
    known = {f"q{i}": float(value) for i, value in enumerate(values, 1) if value is not None}
    return run_of({}, values={"P@1": known}, queries=[f"q{i}" for i in range(1, len(values) + 1)])


@each("kind", ["max_drop_abs", "max_drop_rel"])
@each(
    ("now", "then", "outcome", "numbers"),
    [
        # The same values: the mean over all is 0.5, the baseline's over two of them 1.
        pytest.param((1, 1, 0, 0), (1, 1, None, None), "pass", (1.0, 1.0), id="same"),
        # Both queries of the baseline fell, and new ones hide it: 0.75 over all, as before.
        pytest.param((0.5, 0.5, 1, 1), (0.75, 0.75, None, None), "fail", (0.5, 0.75), id="hidden"),
        # What the baseline has and the run lost is 0, although the rest are as good as before.
        pytest.param((1, None, None, 1), (1, 1, None, 1), "fail", (2 / 3, 1.0), id="lost"),
        # No query in common: there is nothing to compare.
        pytest.param((1, 1, None, None), (None, None, 1, 1), "fail", (1.0, None), id="disjoint"),
    ],
)
def test_a_change_is_over_the_queries_that_the_baseline_scored(kind, now, then, outcome, numbers):
    check = only(scored(*now), scored(*then), Rule(metric="P@1", **{kind: 0.1}))
    assert (check.outcome.value, check.current, check.baseline) == (outcome, pytest.approx(numbers[0]), numbers[1])


@each("rule", [Rule(metric="P@1", max_drop_abs=0.1), Rule(metric="P@1", non_inferior=True)])
@each(
    ("before", "outcome"),
    [
        # The baseline was not asked the questions that have a value now: it could not have one.
        pytest.param((None, None), "inconclusive", id="new"),
        # It was asked one of them and has no value: something is missing, and that does not pass.
        pytest.param((None, None, None), "fail", id="asked"),
        # It has a value of another question, which the run lost.
        pytest.param((1, None), "fail", id="lost"),
    ],
)
def test_what_is_about_new_questions_alone_is_unknown_and_not_lost(rule, before, outcome):
    """The first unanswerable question of a golden set, say: TrueEmpty is for nothing that the baseline was asked."""
    check = only(scored(None, None, 1, 1), scored(*before), rule)
    assert (check.outcome.value, check.baseline) == (outcome, None)
