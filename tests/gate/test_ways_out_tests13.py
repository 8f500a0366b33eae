"""Ways to get exit 0 where it must not be, and what closes them: the tests and their margins."""

from __future__ import annotations

from itertools import product

import pytest
from gating import gate, only, run_of

from evaluations import change
from karat.core import Measure, Scores
from karat.evaluation import Evaluation
from karat.gate import Rule
from karat.stats import DropRule

MEASURES = ("R@5", "P@5", "RR@10", "nDCG@5")
CATEGORIES = 126


@pytest.mark.slow
@pytest.mark.parametrize("test", ["significant_drop", "non_inferior"])
def test_way_3_a_collapse_in_many_categories_fails(test: str) -> None:
    """126 categories x 4 measures, every score falls to 0: 9,999 flips are enough, since p is not divided by 504."""
    n = 20 * CATEGORIES
    segments = {("category", str(c)): [f"q{i + 1}" for i in range(c, n, CATEGORIES)] for c in range(CATEGORIES)}
    old, new = run_of(dict.fromkeys(MEASURES, [0.5] * n)), run_of(dict.fromkeys(MEASURES, [0.0] * n))
    rules = [Rule(metric=m, where=where, **{test: True}) for where, m in product(segments, MEASURES)]  # type: ignore[arg-type]
    decision = gate(new, old, *rules, segments=segments, drop=DropRule(resamples=999))
    assert {check.outcome.value for check in decision.checks} == {"fail"}
    assert decision.exit_code == 1


def test_way_3_categories_too_small_for_a_test_do_not_pass() -> None:
    """Three queries in each of ten categories: none can be tested, and the whole set can."""
    segments = {("category", str(c)): [f"q{i + 1}" for i in range(c, 30, 10)] for c in range(10)}
    rules = [Rule(metric="RR", where=where, significant_drop=True) for where in segments]
    new, old = run_of({"RR": [0.0] * 30}), run_of({"RR": [1.0] * 30})
    decision = gate(new, old, *rules, Rule(metric="RR", significant_drop=True), segments=segments)
    assert [check.outcome.value for check in decision.checks] == ["inconclusive"] * 10 + ["fail"]
    assert "too few changed to test: 3 of 3 queries" in decision.checks[0].reason


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("test", ["significant_drop", "non_inferior"])
def test_way_5_a_collapse_of_a_small_set_never_passes(n: int, test: str) -> None:
    """Up to four queries cannot be tested, and say so; five and six fail; beside three other measures as well."""
    new, old = run_of(dict.fromkeys(MEASURES, [0.0] * n)), run_of(dict.fromkeys(MEASURES, [1.0] * n))
    for measures in (MEASURES[:1], MEASURES):
        decision = gate(new, old, *(Rule(metric=m, **{test: True}) for m in measures))  # type: ignore[arg-type]
        assert {check.outcome.value for check in decision.checks} == {"inconclusive" if n < 5 else "fail"}


def geometric(values: list[float]) -> Evaluation:
    """Return a run with these values of GMAP, and the mean that ``karat eval`` prints."""
    run = run_of({"GMAP": values})
    table = Scores.from_columns("mine", {"GMAP": run.values("GMAP")}, aggregates={"GMAP": "geometric"})
    return change(run, scores=table, means=table.mean(), segments={("category", "a"): list(table.queries)})


def test_way_6_a_geometric_mean_is_gated_as_what_it_is() -> None:
    """Ten of 200 queries fall to 0: GMAP falls from 0.5 to 0.29, in eval and in the gate, and that fails."""
    assert Measure.parse("GMAP").definition.aggregate == "geometric"
    old, new = geometric([0.5] * 200), geometric([0.0] * 10 + [0.5] * 190)
    for where in (None, ("category", "a")):
        check = only(new, old, Rule(metric="GMAP", where=where, non_inferior=True))
        assert check.outcome.value == "fail"
        assert check.current == new.means["GMAP"] == new.mean("GMAP", new.queries)
        assert check.current == pytest.approx(0.5**0.95 * 0.00001**0.05)
        floor = only(new, None, Rule(metric="GMAP", where=where, min=0.4))
        assert (floor.outcome.value, floor.current) == ("fail", check.current)


def test_way_7_the_least_margin_does_not_hide_a_collapse() -> None:
    """P@200 of 0.005 falls to 0, by less than 0.01, and fails; half of it is the margin, and a tenth is tolerated."""
    rule = Rule(metric="P@200", non_inferior=True)
    old = run_of({"P@200": [0.005] * 20})
    check = only(run_of({"P@200": [0.0] * 20}), old, rule)
    assert (check.outcome.value, check.limit) == ("fail", 0.0025)
    assert only(run_of({"P@200": [0.0045] * 20}), old, rule).outcome.value == "pass"
    low = only(run_of({"P@200": [0.0] * 20}), old, Rule(metric="P@200", significant_drop=True))
    assert low.outcome.value == "fail"


def test_a_level_below_what_few_queries_reach_is_said() -> None:
    """Ten queries have p = 1/1024 at best: at alpha 0.0001 even their collapse cannot be shown."""
    rule = Rule(metric="RR", significant_drop=True)
    check = only(run_of({"RR": [0.0] * 10}), run_of({"RR": [1.0] * 10}), rule, drop=DropRule(alpha=0.0001))
    assert check.outcome.value == "inconclusive"
    assert "10 of 10 queries, so p cannot be below 0.00098, and 0.0001 is needed" in check.reason
