"""Effect sizes, wins and losses, and the Bayesian view: by hand, then against SciPy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import differences, spread
from scipy import integrate, special, stats

from karat.core import UsageError
from karat.stats import Successes, effect_size, probability_better, win_tie_loss
from karat.stats._effect import WinTieLoss
from strategies import quick


def test_effect_size_by_hand() -> None:
    """Of 1, 2, 3 the mean is two standard deviations; the correction for two degrees of freedom is 1 / sqrt(pi)."""
    effect = effect_size([1, 2, 3])
    assert effect.d_z == pytest.approx(2)
    assert effect.g_z == pytest.approx(2 / math.sqrt(math.pi))


@quick
@given(spread)
def test_effect_size_is_t_over_the_root_of_n(values: list[float]) -> None:
    """d_z is SciPy's t / sqrt(n), and g_z is d_z times the correction by gamma functions."""
    effect, n = effect_size(values), len(values)
    assert effect.d_z == pytest.approx(stats.ttest_1samp(values, 0).statistic / math.sqrt(n), rel=1e-9, abs=1e-12)
    if n > 2:
        unbiased = math.exp(special.gammaln((n - 1) / 2) - special.gammaln((n - 2) / 2)) / math.sqrt((n - 1) / 2)
        assert effect.g_z == pytest.approx(effect.d_z * unbiased, rel=1e-9, abs=1e-12)
    else:
        assert effect.g_z is None


@pytest.mark.slow
def test_effect_size_is_unbiased() -> None:
    """Over 40,000 experiments with five queries g_z is right on average, and d_z a quarter too large."""
    draws = np.random.default_rng(1).normal(0.5, 1.0, (40_000, 5))
    effects = [effect_size(row) for row in draws[:10_000]]
    assert np.mean([effect.g_z for effect in effects]) == pytest.approx(0.5, abs=0.025)
    assert np.mean([effect.d_z for effect in effects]) == pytest.approx(0.5 * 1.2533, abs=0.03)


def test_effect_size_without_spread() -> None:
    """Nothing changed is an effect of 0; a change that is the same everywhere has no size in units of its spread."""
    assert (effect_size([0.0] * 5).d_z, effect_size([0.0] * 5).g_z) == (0, 0)
    assert (effect_size([0.1] * 5).d_z, effect_size([0.1] * 5).g_z) == (None, None)


def test_wins_ties_and_losses_by_hand() -> None:
    """What is within the tolerance is a tie, its edge included."""
    assert win_tie_loss([1e-9, -1e-9, 2e-9, -0.5, -0.1]) == WinTieLoss(wins=1, ties=2, losses=2)
    assert win_tie_loss([0.1, 0.05, -0.2], tolerance=0.1) == WinTieLoss(wins=0, ties=2, losses=1)
    assert win_tie_loss([]).superiority is None
    assert WinTieLoss(wins=2, ties=1, losses=1).superiority == 0.625
    with pytest.raises(UsageError, match="tolerance"):
        win_tie_loss([0.1], tolerance=-1)


@quick
@given(differences)
def test_wins_and_losses_swap(values: list[float]) -> None:
    """All queries are counted once, and the other way round wins are losses."""
    first, other = win_tie_loss(values), win_tie_loss([-value for value in values])
    assert (first.wins, first.ties, first.losses) == (other.losses, other.ties, other.wins)
    assert first.wins + first.ties + first.losses == len(values)


def test_probability_better_by_hand() -> None:
    """Without any trial it is a half; one success against nothing is P(sqrt(u) > v) = 2/3."""
    none = Successes(good=0, tried=0)
    assert probability_better(none, none) == 0.5
    assert probability_better(Successes(good=1, tried=1), none) == pytest.approx(2 / 3)
    assert probability_better(none, Successes(good=1, tried=1)) == pytest.approx(1 / 3)


@pytest.mark.slow
@quick
@given(st.tuples(*[st.integers(0, 60)] * 4))
def test_probability_better_is_the_integral(counts: tuple[int, int, int, int]) -> None:
    """It is the integral of one Beta density over the other's distribution, and the two ways round add up to 1."""
    treatment = Successes(good=counts[0], tried=counts[0] + counts[1])
    control = Successes(good=counts[2], tried=counts[2] + counts[3])
    first, other = stats.beta(1 + counts[0], 1 + counts[1]), stats.beta(1 + counts[2], 1 + counts[3])
    expected, _ = integrate.quad(lambda x: first.pdf(x) * other.cdf(x), 0, 1, points=[first.mean()], limit=200)
    probability = probability_better(treatment, control)
    assert probability == pytest.approx(expected, abs=1e-7)
    assert probability + probability_better(control, treatment) == pytest.approx(1, abs=1e-10)


def test_probability_better_of_many() -> None:
    """A million trials each are near the normal approximation, and nothing overflows."""
    first, other = Successes(good=500_600, tried=1_000_000), Successes(good=500_000, tried=1_000_000)
    z = 600 / math.sqrt(2 * 1_000_000 * 0.25)
    assert probability_better(first, other) == pytest.approx(float(stats.norm.cdf(z)), abs=1e-5)
    assert probability_better(Successes(good=10**6, tried=10**6), Successes(good=0, tried=10**6)) == pytest.approx(1)


@pytest.mark.parametrize(("good", "tried"), [(-1, 3), (4, 3), (0, -1)])
def test_successes_without_sense_are_refused(good: int, tried: int) -> None:
    """More successes than trials, or less than none, are refused."""
    with pytest.raises(UsageError, match="successes"):
        Successes(good=good, tried=tried)
