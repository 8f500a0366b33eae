"""How many queries are needed: the specification's numbers, statsmodels, and spreads measured by hand."""

from __future__ import annotations

import math
from statistics import stdev

import pytest
from statsmodels.stats.power import TTestPower

from each import each
from evaluations import make_evaluation
from karat.core import UsageError
from karat.evaluation import Evaluation
from karat.gate.power import SPREADS, Aim, compute_reach, compute_reach_of_repeats, compute_reach_of_runs


def make_scored(values: dict[str, dict[str, tuple[float, ...]]]) -> Evaluation:
    return make_evaluation(name="run", values=values)


def test_the_numbers_of_the_specification() -> None:
    """statistics.md 2: queries for 0.05, what 15 queries see of 0.10, and what 280 detect."""
    assert [compute_reach(sd).needed for sd in SPREADS] == [73, 199, 387]
    small = [compute_reach(sd, 15, Aim(effect=0.1)) for sd in SPREADS]
    assert [round(reach.power or 0, 2) for reach in small] == [0.67, 0.30, 0.18]
    assert [reach.needed for reach in small] == [20, 52, 99]
    assert [round(compute_reach(sd, 280).detectable or 0, 3) for sd in SPREADS] == [0.025, 0.042, 0.059]


@pytest.mark.parametrize("sides", [1, 2])
def test_statsmodels_agrees(sides: int) -> None:
    """Power, and what is detectable with it, on one side and two."""
    reach = compute_reach(0.2, 60, Aim(effect=0.06, power=0.9, alpha=0.01, sides=sides))
    theirs, way = TTestPower(), {1: "larger", 2: "two-sided"}[sides]
    assert reach.power == pytest.approx(theirs.power(0.3, 60, 0.01, alternative=way), abs=1e-9)
    effect = theirs.solve_power(nobs=60, alpha=0.01, power=0.9, alternative=way)
    assert reach.detectable == pytest.approx(0.2 * effect, rel=1e-6)
    needed = theirs.solve_power(effect_size=0.3, alpha=0.01, power=0.9, alternative=way)
    assert reach.needed == math.ceil(needed)


def test_the_spread_of_two_runs_by_hand() -> None:
    """The standard deviation of the differences of queries that both have, after repeats are averaged."""
    then = make_scored({"RR": {"q1": (0.5, 1.0), "q2": (0.0,), "q3": (1.0,), "q4": (1.0,)}})
    now = make_scored({"RR": {"q1": (1.0,), "q2": (0.5,), "q3": (0.75,)}})
    (reach,) = compute_reach_of_runs(now, then, ["RR"])
    assert (reach.measure, reach.n) == ("RR", 3)
    assert reach.sd == pytest.approx(stdev([0.25, 0.5, -0.25]))
    assert reach == compute_reach(reach.sd, 3, measure="RR")
    (more,) = compute_reach_of_runs(now, then, ["RR"], n=300)
    assert (more.n, more.sd, more.needed) == (300, reach.sd, reach.needed)


def test_the_noise_of_repeats_by_hand() -> None:
    """Two runs of two repeats each: a query's variance over its repeats, halved by averaging, counts twice."""
    run = make_scored({"RR": {"q1": (1.0, 0.5), "q2": (0.5, 0.5), "q3": (0.0, math.nan)}})
    (reach,) = compute_reach_of_repeats(run, ["RR"])
    assert reach.n == 3
    assert reach.sd == pytest.approx(math.sqrt(2 * (0.125 / 2 + 0) / 2))


@pytest.mark.parametrize("values", [(0.5,), (0.5, 0.5)])
def test_without_noise_nothing_follows(values: tuple[float, ...]) -> None:
    """One asking, or answers that are always the same, give no spread."""
    (reach,) = compute_reach_of_repeats(make_scored({"RR": {"q1": values, "q2": values}}), ["RR"])
    assert (reach.sd, reach.needed, reach.power, reach.detectable) == (None, None, None, None)


def test_runs_that_do_not_differ_have_no_spread() -> None:
    """Nothing is computed from rounding, and one query has no spread either."""
    then = make_scored({"RR": {"q1": (0.1 + 0.2,), "q2": (1.0,)}, "R@5": {"q1": (1.0,)}})
    now = make_scored({"RR": {"q1": (0.3,), "q2": (1.0,)}, "R@5": {"q1": (0.0,)}})
    assert [(reach.sd, reach.needed) for reach in compute_reach_of_runs(now, then, ["RR", "R@5"])] == [(None, None)] * 2


@each(
    ("options", "words"),
    [
        ({"effect": 0.0}, "effect 0.0 should be"),
        ({"effect": math.nan}, "effect nan should be"),
        ({"power": 0.04}, "between alpha"),
        ({"power": 1.0}, "between alpha"),
    ],
)
def test_aims_that_make_no_sense_are_refused(options: dict[str, float], words: str) -> None:
    """No effect, no number, and a power that guessing would reach."""
    with pytest.raises(UsageError, match=words):
        Aim(**options)  # type: ignore[arg-type]


def test_a_geometric_mean_is_not_planned_by_differences() -> None:
    """A difference of 0.05 in single values says nothing about GMAP, so no number is given."""
    then, now = (
        make_evaluation(values={"GMAP": {"q1": 0.5, "q2": 0.2}}),
        make_evaluation(values={"GMAP": {"q1": 0.1, "q2": 0.4}}),
    )
    (reach,) = compute_reach_of_runs(now, then, ["GMAP"])
    assert (reach.measure, reach.sd, reach.needed) == ("GMAP", None, None)
