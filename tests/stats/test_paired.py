"""The paired t-test and non-inferiority against hand computations, SciPy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import differences, drawn, spread
from scipy import stats
from statsmodels.regression.linear_model import OLS

from each import each
from karat.core import UsageError
from karat.stats import non_inferior, paired_t
from karat.stats._paired import Claim
from karat.stats._sample import Alternative
from strategies import quick, thorough

ALTERNATIVES: list[Alternative] = ["two-sided", "less", "greater"]


def test_t_by_hand() -> None:
    """Of 1, 2, 3 the mean is 2 and its error 1 / sqrt(3), so that t is 2 sqrt(3)."""
    result = paired_t([1, 2, 3])
    assert result.t == pytest.approx(2 * math.sqrt(3))
    assert result.error == pytest.approx(1 / math.sqrt(3))
    t = 2 * math.sqrt(3)
    assert result.p == pytest.approx(2 / (2 + t * t + t * math.sqrt(2 + t * t)))  # two degrees of freedom
    assert (result.df, result.n, result.clusters) == (2, 3, None)


@pytest.mark.slow
@thorough
@given(spread, st.sampled_from(ALTERNATIVES), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_t_is_that_of_scipy(values: list[float], alternative: Alternative, level: float) -> None:
    """Statistic, p and interval are SciPy's to twelve digits; an end that SciPy has at infinity is None."""
    ours = paired_t(values, alternative=alternative, level=level)
    theirs = stats.ttest_1samp(values, 0.0, alternative=alternative)
    interval = theirs.confidence_interval(level)
    assert ours.t == pytest.approx(float(theirs.statistic), rel=1e-12, abs=1e-12)
    assert ours.p == pytest.approx(float(theirs.pvalue), rel=1e-12)
    for end, other in ((ours.low, interval.low), (ours.high, interval.high)):
        assert (end is None) == math.isinf(other)
        assert end is None or end == pytest.approx(float(other), rel=1e-12, abs=1e-12)


@each("n", [2, 3, 50, 6980])
def test_t_of_two_runs_is_that_of_scipy(n: int) -> None:
    """On the scores of two runs it is SciPy's ttest_rel, for two queries and for thousands."""
    rng = np.random.default_rng(n)
    first, other = rng.random(n), rng.random(n)
    theirs = stats.ttest_rel(other, first)
    ours = paired_t(other - first)
    assert ours.t == pytest.approx(float(theirs.statistic), rel=1e-11)
    assert ours.p == pytest.approx(float(theirs.pvalue), rel=1e-11)


@each("sizes", [[1] * 30, [5] * 12, [1, 1, 2, 3, 5, 8, 1, 4], [1, 40]])
def test_clustered_t_is_that_of_statsmodels(sizes: list[int]) -> None:
    """With clusters it is the regression on a constant with clustered errors."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    values = (
        drawn(len(labels), seed=len(sizes), zeros=0.3) + np.random.default_rng(1).normal(0, 0.2, len(sizes))[labels]
    )
    ours = paired_t(values, clusters=labels)
    fit = OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": labels}, use_t=True)
    assert ours.error == pytest.approx(float(fit.bse[0]), rel=1e-10)
    assert ours.p == pytest.approx(float(fit.pvalues[0]), rel=1e-9)
    assert [ours.low, ours.high] == pytest.approx(fit.conf_int()[0].tolist(), rel=1e-9)


@quick
@given(spread, st.integers(2, 5))
def test_repeats_add_nothing(values: list[float], times: int) -> None:
    """Each query asked several times, with the same outcome, tells as much as once."""
    once = paired_t(values)
    repeated = paired_t(np.repeat(values, times), clusters=np.repeat(np.arange(len(values)), times))
    assert repeated.p == pytest.approx(once.p, rel=1e-9)
    assert repeated.df == once.df


@pytest.mark.parametrize("value", [0.1, 1 / 3, -0.7])
def test_differences_that_are_all_the_same(value: float) -> None:
    """Rounding is no spread: t is undefined, and p is 0 or 1 by the side on which the mean is."""
    values = [value] * 30 + [value * (1 + 1e-15)]
    results = {alternative: paired_t(values, alternative=alternative) for alternative in ALTERNATIVES}
    assert all(result.t is None and result.error == 0 for result in results.values())
    assert results["two-sided"].p == 0
    assert results["greater"].p == (0 if value > 0 else 1)
    assert results["less"].p == (1 if value > 0 else 0)
    assert results["two-sided"].low == results["two-sided"].high == pytest.approx(value)


def test_no_difference_at_all() -> None:
    """All zeros have p = 1 on every side."""
    assert [paired_t([0.0, 0.0], alternative=alternative).p for alternative in ALTERNATIVES] == [1, 1, 1]


@quick
@given(differences)
def test_the_other_way_round(values: list[float]) -> None:
    """Swapping the runs mirrors everything."""
    first, other = paired_t(values), paired_t([-value for value in values])
    assert first.p == other.p
    assert first.low is not None
    assert other.high is not None
    assert first.low == pytest.approx(-other.high, abs=1e-15)


def test_non_inferiority_by_hand() -> None:
    """Of 1, 2, 3 the lower bound is 2 - 2.92 / sqrt(3) = 0.314: above -1, and above -0, but all of it above -4."""
    result = non_inferior([1, 2, 3], 0)
    assert result.low == pytest.approx(2 - 2.919985580 / math.sqrt(3))
    assert result.high == pytest.approx(2 + 2.919985580 / math.sqrt(3))
    assert result.outcome is Claim.SHOWN
    assert non_inferior([-1, -2, -3], 0.3).outcome is Claim.REFUTED
    assert non_inferior([-1, -2, -3], 0.4).outcome is Claim.INCONCLUSIVE
    assert non_inferior([-1, -2, -3], 3.6).outcome is Claim.INCONCLUSIVE
    assert non_inferior([-1, -2, -3], 3.7).outcome is Claim.SHOWN


@quick
@given(spread, st.sampled_from([0.0, 0.01, 0.05, 0.3]), st.sampled_from([0.01, 0.05, 0.2]))
def test_non_inferiority_is_a_shifted_t_test(values: list[float], margin: float, alpha: float) -> None:
    """Shown where SciPy's one-sided test of mean = -margin rejects, refuted where the other side does."""
    result = non_inferior(values, margin, alpha=alpha).outcome
    above = stats.ttest_1samp(values, -margin, alternative="greater").pvalue
    below = stats.ttest_1samp(values, -margin, alternative="less").pvalue
    if min(abs(above - alpha), abs(below - alpha)) > 1e-9:
        expected = Claim.SHOWN if above < alpha else Claim.REFUTED if below < alpha else Claim.INCONCLUSIVE
        assert result is expected


def test_non_inferiority_of_very_little() -> None:
    """Nothing changed is non-inferior even for one query and no margin; one query that changed tells nothing."""
    assert non_inferior([0.0], 0).outcome is Claim.SHOWN
    result = non_inferior([-0.001], 0.5)
    assert (result.outcome, result.low, result.high) == (Claim.INCONCLUSIVE, None, None)
    assert non_inferior([-0.1] * 5, 0.2).outcome is Claim.SHOWN
    assert non_inferior([-0.3] * 5, 0.2).outcome is Claim.REFUTED
    assert non_inferior([-0.3] * 5, 0.2, clusters=["q"] * 5).outcome is Claim.INCONCLUSIVE


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"margin": -0.1}, "margin"), ({"margin": math.nan}, "margin"), ({"margin": 0.1, "alpha": 1.0}, "alpha")],
)
def test_non_inferiority_without_sense_is_refused(arguments: dict[str, float], words: str) -> None:
    """A margin below 0 and a level of 1 are refused."""
    with pytest.raises(UsageError, match=words):
        non_inferior([0.1, 0.2], **arguments)


def test_t_without_sense_is_refused() -> None:
    """An unknown alternative is told with the one that was meant."""
    with pytest.raises(UsageError, match="did you mean 'greater'"):
        paired_t([0.1, 0.2], alternative="grater")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="level"):
        paired_t([0.1, 0.2], level=95)
