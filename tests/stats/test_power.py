"""Power of the paired t-test: the numbers of the specification, two oracles, and how the functions fit together."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from statsmodels.stats.power import TTestPower

from each import each
from karat.core import UsageError
from karat.stats import detectable, power, sample_size
from strategies import quick

SPREADS = (0.15, 0.25, 0.35)
SIDES = {1: "larger", 2: "two-sided"}


def test_the_numbers_of_queries_in_the_specification() -> None:
    """An effect of 0.05 takes 73, 199 or 387 queries; one of 0.10 takes 20, 52 or 99 (statistics.md, section 2)."""
    assert [sample_size(0.05, sd) for sd in SPREADS] == [73, 199, 387]
    assert [sample_size(0.10, sd) for sd in SPREADS] == [20, 52, 99]


def test_the_powers_in_the_specification() -> None:
    """72 queries, which agent takes for enough, have power .797; 15 detect .10 with .67, .30 or .18."""
    assert round(power(72, 0.05, 0.15), 3) == 0.797
    assert power(73, 0.05, 0.15) > 0.80
    assert [round(power(15, 0.10, sd), 2) for sd in SPREADS] == [0.67, 0.30, 0.18]


def test_the_detectable_drops_in_the_specification() -> None:
    """280 queries detect .025, .042 or .059."""
    assert [round(detectable(280, sd), 3) for sd in SPREADS] == [0.025, 0.042, 0.059]


def test_the_rule_of_thumb_of_the_gate() -> None:
    """One-sided, the number of queries comes near to 6.18 s^2 / m^2 (statistics.md, section 1)."""
    assert sample_size(0.01, 0.25, sides=1) == pytest.approx(6.18 * 0.25**2 / 0.01**2, rel=0.002)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 15, 30, 73, 280, 1000, 5000, 10_000])
def test_power_is_that_of_statsmodels(n: int, sides: int) -> None:
    """From 2 queries to 10,000 the power is statsmodels' to ten digits, wherever statsmodels has a number."""
    compared = 0
    for effect in (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 0.67, 1.0, 3.0, 10.0):
        for alpha in (0.001, 0.01, 0.05, 0.2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = float(TTestPower().power(effect, n, alpha, alternative=SIDES[sides]))
            ours = power(n, effect, 1.0, alpha=alpha, sides=sides)
            assert 0 <= ours <= 1
            if not math.isnan(theirs):  # scipy's noncentral t gives up where the power is near 1
                assert ours == pytest.approx(theirs, abs=1e-10)
                compared += 1
    assert compared >= 25


@pytest.mark.parametrize(("n", "effect"), [(3, 10.0), (73, 1.0), (1000, 0.3), (5000, 0.1)])
def test_power_where_statsmodels_has_no_number(n: int, effect: float) -> None:
    """Near 1 the power is that of an integral over the spread, computed here by scipy's adaptive quadrature."""
    critical = stats.t.isf(0.0005, n - 1)

    def density(s: float) -> float:
        spread_density = stats.chi.pdf(s * math.sqrt(n - 1), n - 1) * math.sqrt(n - 1)
        return float(spread_density * stats.norm.sf(critical * s - effect * math.sqrt(n)))

    width = 12 / math.sqrt(2 * (n - 1))
    expected, _ = integrate.quad(density, max(0.0, 1 - width), 1 + width, points=[1.0], limit=500, epsabs=1e-12)
    assert power(n, effect, 1.0, alpha=0.001) == pytest.approx(expected, abs=1e-8)


def test_power_is_how_often_the_test_finds_the_effect() -> None:
    """Of 40,000 simulated experiments with 12 queries as many are significant as the power says."""
    rng = np.random.default_rng(3)
    draws = rng.normal(0.1, 0.15, (40_000, 12))
    p = stats.ttest_1samp(draws, 0.0, axis=1).pvalue
    assert np.mean(p <= 0.05) == pytest.approx(power(12, 0.1, 0.15), abs=0.012)


@pytest.mark.slow
@quick
@given(
    n=st.integers(2, 3000),
    sd=st.floats(0.01, 1.0),
    target=st.floats(0.3, 0.99),
    alpha=st.sampled_from([0.001, 0.01, 0.05, 0.1]),
    sides=st.sampled_from([1, 2]),
)
def test_what_is_detectable_has_the_power_that_was_asked_for(
    n: int, sd: float, target: float, alpha: float, sides: int
) -> None:
    """The detectable effect has exactly that power, and n queries are what it takes to see it."""
    effect = detectable(n, sd, power=target, alpha=alpha, sides=sides)
    assert power(n, effect, sd, alpha=alpha, sides=sides) == pytest.approx(target, abs=1e-9)
    assert sample_size(effect * (1 + 1e-9), sd, power=target, alpha=alpha, sides=sides) == n


@quick
@given(effect=st.floats(0.02, 2.0), sd=st.floats(0.05, 1.0), sides=st.sampled_from([1, 2]))
def test_the_sample_size_is_the_smallest(effect: float, sd: float, sides: int) -> None:
    """One query fewer has too little power; the sign of the effect does not matter."""
    n = sample_size(-effect, sd, sides=sides)
    assert power(n, effect, sd, sides=sides) >= 0.8
    assert n == 2 or power(n - 1, -effect, sd, sides=sides) < 0.8


def test_more_queries_larger_effects_and_one_side_see_more() -> None:
    """Power rises with the number of queries and with the effect, and is higher when only one side is looked at."""
    by_n = [power(n, 0.05, 0.2) for n in range(2, 200)]
    by_effect = [power(30, effect / 100, 0.2) for effect in range(20)]
    for rising in (by_n, by_effect):
        assert all(after > before for before, after in pairwise(rising))
    assert power(30, 0.05, 0.2, sides=1) > power(30, 0.05, 0.2)
    assert power(30, 0.0, 0.2) == pytest.approx(0.05, abs=1e-12)


@each(
    ("call", "words"),
    [
        (lambda: power(1, 0.1, 0.15), "at least 2"),
        (lambda: detectable(1, 0.15), "at least 2"),
        (lambda: power(10, 0.1, 0.0), "above 0"),
        (lambda: power(10, math.nan, 0.1), "finite"),
        (lambda: power(10, 0.1, math.nan), "above 0"),
        (lambda: power(10, 0.1, 0.1, alpha=0.0), "alpha"),
        (lambda: power(10, 0.1, 0.1, sides=3), "sides"),
        (lambda: sample_size(0.0, 0.15), "other than 0"),
        (lambda: sample_size(0.1, 0.15, power=0.01), "power"),
        (lambda: sample_size(1e-9, 1.0), "more than"),
        (lambda: detectable(10, 0.15, power=1.0), "power"),
    ],
)
def test_what_makes_no_sense_is_refused(call: object, words: str) -> None:
    """A question without an answer is refused with the reason."""
    assert callable(call)
    with pytest.raises(UsageError, match=words):
        call()
