"""How often sequential tests find what is not there, and how soon they find what is, with a look after every unit.

All methods see the same draws. Every rate is a share of simulated trials: its standard error is sqrt(p (1 - p) / n).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from karat.stats.sequential import Decision, Tally, assess, trace_log_e, wald_sprt

pytestmark = pytest.mark.calibration

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENOUGH = math.log(20)
EFFECT = 0.05
NEVER = 10**9


def draw(seed: int, shape: tuple[int, ...], chances: dict[float, float]) -> Floats:
    """Return differences with these chances; the others are 0."""
    u, cut = np.random.default_rng(seed).random(shape), 0.0
    drawn = np.zeros(shape)
    for value, chance in chances.items():
        drawn[(u >= cut) & (u < cut + chance)] = value
        cut += chance
    return drawn


NULL = {0.5: 0.1, -0.5: 0.1}
SKEWED = {1 / 6: 0.12, -1.0: 0.02}
"""Small wins hide rare disasters; the mean is 0."""
BETTER = {0.5: 0.15, -0.5: 0.05}
WORSE = {0.5: 0.05, -0.5: 0.15}
SD = math.sqrt(0.2 * 0.25 - EFFECT**2)
"""The standard deviation of the last two, whose means are the effect and its negative."""


def first(crossed: Bools) -> NDArray[np.int64]:
    """Return at which unit each trial crossed, from 1."""
    return np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, NEVER)


def bet(differences: Floats, mean: float = 0.0, enough: float = ENOUGH) -> NDArray[np.int64]:
    """Return when the e-process against a mean of at most ``mean`` is enough."""
    return np.array([np.append(np.flatnonzero(trace_log_e(row, mean) >= enough) + 1, NEVER)[0] for row in differences])


def source_sprt(differences: Floats) -> float:
    """Return how often the SPRT of "agent", which has no variance in it, accepts the treatment."""
    ratio = np.cumsum(differences - EFFECT**2 / 2, axis=1)
    return float((first(ratio >= math.log(0.8 / 0.05)) < first(ratio <= math.log(0.2 / 0.95))).mean())


def plug_in_msprt(differences: Floats) -> float:
    """Return how often a normal mixture SPRT graduates with the variance of the sample in place of the true one."""
    n = np.arange(1, differences.shape[1] + 1)
    mean = np.cumsum(differences, axis=1) / n
    variance = np.maximum(np.cumsum(differences**2, axis=1) / n - mean**2, 1e-12)
    spread = variance + n * EFFECT**2
    ratio = 0.5 * np.log(variance / spread) + (n * EFFECT * mean) ** 2 / (2 * variance * spread)
    return float(((ratio >= ENOUGH) & (mean > 0) & (variance > 1e-9)).any(axis=1).mean())


@pytest.mark.slow(4)
def test_a_skewed_feature_without_effect_does_not_graduate() -> None:
    """2,000 trials to 5,000 units: betting below 5 % (.032 is published), both others above 25 % on the same draws."""
    rates = []
    for seed in range(100, 140):  # parts that fit the cache
        differences = draw(seed, (50, 5_000), SKEWED)
        t = stats.ttest_1samp(differences[:, :100], 0, axis=1, alternative="greater")
        graduated = (bet(differences) < NEVER).mean()
        rates.append((graduated, source_sprt(differences), plug_in_msprt(differences), (t.pvalue < 0.05).mean()))
    betting, source, plug_in, fixed = np.mean(rates, axis=0)
    assert betting == pytest.approx(0.032, abs=0.012)  # three standard errors
    assert source > 0.25
    assert plug_in > 0.25
    assert fixed > 0.1


@pytest.mark.slow(2)
def test_a_feature_without_effect_neither_graduates_nor_counts_as_harm() -> None:
    """1,000 trials to 2,000 units: below 5 % on either side; "agent" graduates more than a quarter.

    Without a skew a mixture that takes the variance of the sample keeps its level, and so does a t-test that is looked
    at once.
    """
    differences = draw(8, (1_000, 2_000), NULL)
    once = stats.ttest_1samp(differences[:, :100], 0, axis=1, alternative="greater").pvalue < 0.05
    assert (bet(differences) < NEVER).mean() < 0.05
    assert (bet(-differences) < NEVER).mean() < 0.05
    assert source_sprt(differences) > 0.25
    assert plug_in_msprt(differences) < 0.05
    assert once.mean() == pytest.approx(0.05, abs=0.02)


@pytest.mark.slow
def test_what_people_look_at_finds_what_is_not_there() -> None:
    """A posterior above .95 at any look, and a bootstrap interval above 0 every 50 units: why neither decides."""
    differences = draw(8, (1_000, 2_000), NULL)[:300]
    wins, losses = np.cumsum(differences > 0, axis=1), np.cumsum(differences < 0, axis=1)
    posterior = special.betainc(1 + losses, 1 + wins, 0.5)
    assert (posterior > 0.95).any(axis=1).mean() > 0.3
    rng = np.random.default_rng(9)
    found = np.zeros(len(differences), bool)
    for n in range(50, 2_001, 50):
        shares = np.stack([wins[:, n - 1], losses[:, n - 1], n - wins[:, n - 1] - losses[:, n - 1]], axis=1) / n
        counts = rng.multinomial(n, shares[:, None, :], (len(differences), 400))
        found |= np.quantile(counts[..., 0] - counts[..., 1], 0.025, axis=1) > 0
    assert found.mean() > 0.12  # above 0 only; either side is twice as often


@pytest.mark.slow(2)
def test_the_unit_is_the_session() -> None:
    """Five repeats of one query per session: nearly half graduate by queries, and below 5 % by means of sessions."""
    means = draw(10, (500, 1_000), NULL)
    assert (bet(np.repeat(means, 5, axis=1)) < NEVER).mean() > 0.4
    assert (bet(means) < NEVER).mean() < 0.05


@cache
def better() -> Floats:
    return draw(11, (400, 2_000), BETTER)


@pytest.mark.slow(2)
def test_power_and_how_soon() -> None:
    """A true effect of 0.05: found in all of 400 trials, after 147 units on average.

    Wald's test knows the spread, and needs 82, but misses one effect of six; a fixed test with a power of 80 % needs
    118, and may be looked at once. The e-process needs neither, and that is its price.
    """
    differences = better()
    at = bet(differences)
    fixed = math.ceil((stats.norm.ppf(0.95) + stats.norm.ppf(0.8)) ** 2 * SD**2 / EFFECT**2)
    ratio = np.cumsum(EFFECT / SD**2 * (differences - EFFECT / 2), axis=1)
    accepts, rejects = first(ratio >= math.log(0.8 / 0.05)), first(ratio <= math.log(0.2 / 0.95))
    wald = np.minimum(accepts, rejects)
    assert fixed == 118
    assert (accepts < rejects).mean() == pytest.approx(0.84, abs=0.04)
    assert wald.mean() == pytest.approx(82, rel=0.1)
    assert (at < NEVER).all()
    assert np.mean(at) == pytest.approx(147, rel=0.1)
    found = Tally.of(differences[0, : at[0]].tolist())
    assert assess(found).log_better >= ENOUGH
    assert assess(found).decision in (Decision.GRADUATE, Decision.BELOW)
    assert wald_sprt(Tally.of(differences[0, : accepts[0]].tolist()), SD).decision is Decision.GRADUATE


@pytest.mark.slow
def test_a_true_effect_is_rarely_called_futile() -> None:
    """At most 20 % of trials with exactly the smallest effect are ever called futile, as promised."""
    assert (bet(-better(), -EFFECT, math.log(5)) < NEVER).mean() < 0.2


@pytest.mark.slow
def test_harm_is_found_and_nothing_harmful_graduates() -> None:
    """A loss of 0.05 is found in all of 400 trials, half of them within 135 units; next to none graduates."""
    differences = draw(12, (400, 2_000), WORSE)
    at = bet(-differences)
    assert (at < NEVER).all()
    assert np.median(at) <= 135
    assert (bet(differences) < NEVER).mean() <= 0.01


@pytest.mark.slow
def test_the_confidence_sequence_holds_the_mean_at_every_look() -> None:
    """Of 400 trials, at most 5 % have a look at which the mixed evidence against the true mean is enough."""
    up, down = trace_log_e(better(), EFFECT), trace_log_e(-better(), -EFFECT)
    assert (np.logaddexp(up, down) - math.log(2) >= ENOUGH).any(axis=1).mean() < 0.05
