"""How often intervals hold the true mean, and tests find what is not there.

Every number here is a share of simulated experiments, so it has a standard error, which each docstring states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pytest
import worlds
from numpy.typing import NDArray
from scipy import stats
from worlds import HARM

from karat.stats import bootstrap, paired_t, permutation, power
from karat.stats._bootstrap import Method

pytestmark = pytest.mark.calibration

Floats = NDArray[np.float64]


def differences(seed: int, shape: tuple[int, ...], measure: str = "RR@10", **change: float) -> Floats:
    """Return the differences of simulated runs."""
    before, after = worlds.runs(np.random.default_rng(seed), shape, **change)[measure]
    return after - before


@cache
def truth() -> float:
    """Return the true mean difference of RR@10 under harm, from 600,000 queries; its standard error is 0.0004."""
    return float(np.mean([differences(seed, (100, 2_000), harm=HARM).mean() for seed in range(900, 903)]))


def coverage(samples: Iterable[Floats], true: float, interval: Callable[[Floats], tuple[float, float]]) -> float:
    """Return the share of samples whose interval holds the true mean."""
    ends = [interval(sample) for sample in samples]
    return sum(low <= true <= high for low, high in ends) / len(ends)


def resampled(method: Method, **more: object) -> Callable[[Floats], tuple[float, float]]:
    rng = np.random.default_rng(11)

    def interval(sample: Floats) -> tuple[float, float]:
        estimate = bootstrap(sample, rng=rng, resamples=1_000, method=method, **more)  # type: ignore[arg-type]
        return estimate.low, estimate.high

    return interval


def by_t(sample: Floats) -> tuple[float, float]:
    estimate = paired_t(sample)
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.high


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize(("n", "experiments"), [(50, 1_500), (200, 700)])
def test_bootstrap_intervals_hold_the_true_mean(method: Method, n: int, experiments: int) -> None:
    """Where the mean moved, 94 % of the 95 % intervals hold it, with 50 queries and with 200.

    Of 6,000 experiments the rates were 93.6 (percentile) and 94.4 % (BCa) at 50, and 94.2 % at 200. The standard errors
    here are 0.6 and 0.9 points, three of which are the room: an interval that covers less than 90 % fails.
    """
    samples = differences(n, (experiments, n), harm=HARM)
    rate = coverage(samples, truth(), resampled(method))
    assert rate == pytest.approx(0.94, abs=3 * math.sqrt(0.94 * 0.06 / experiments))


def test_what_the_bootstrap_cannot_do() -> None:
    """Where 12 of 50 queries changed, and on average none, bootstraps are too short, and the t interval is not.

    The rates are 91.7 (percentile), 87.8 (BCa) and 95.1 % (t); of 1,200 experiments the standard error is below one
    point. It is why the gate decides by t.
    """
    samples = differences(8, (1_200, 50))
    rates = [coverage(samples, 0.0, interval) for interval in (resampled("percentile"), resampled("bca"), by_t)]
    assert rates == pytest.approx([0.917, 0.878, 0.951], abs=0.025)
    assert rates[2] > rates[0] > rates[1]


def repeats(seed: int, experiments: int, queries: int, times: int = 5, **change: float) -> Floats:
    """Return queries asked several times: a repeat has the difference of the first in 7 of 10 cases, else its own."""
    own = differences(seed, (experiments, queries, times), **change)
    same = np.random.default_rng(seed + 1).random(own.shape) < 0.7
    return np.where(same, own[..., :1], own).reshape(experiments, queries * times)


def test_clusters_hold_the_true_mean() -> None:
    """With five repeats of each of 50 queries, intervals of whole queries hold; intervals of rows do not.

    The rates are 94 % for bootstrap and t by cluster, and 71 % for rows taken as independent; of 2,000 experiments the
    standard error is 0.5 points (0.8 for the bootstrap, which has 1,000), and 1 point for the last.
    """
    samples, true = repeats(20, 2_000, 50, harm=HARM), truth()
    labels = np.repeat(np.arange(50), 5)

    def by_cluster(sample: Floats) -> tuple[float, float]:
        estimate = paired_t(sample, clusters=labels)
        assert estimate.low is not None
        assert estimate.high is not None
        return estimate.low, estimate.high

    assert 0.92 <= coverage(samples[:1_000], true, resampled("percentile", clusters=labels)) <= 0.97
    assert 0.93 <= coverage(samples, true, by_cluster) <= 0.97
    assert coverage(samples, true, by_t) < 0.80


def test_clustered_flips_keep_their_level() -> None:
    """Where nothing changed, at most 5 % of the sign-flip tests by query find something; by row it is 30 %.

    Of 2,000 experiments: the standard error is 0.5 points, and three of them are the room above 5 %.
    """
    samples, labels = repeats(30, 2_000, 30), np.repeat(np.arange(30), 5)
    rng = np.random.default_rng(31)
    together = [permutation(sample, rng=rng, resamples=499, clusters=labels).p <= 0.05 for sample in samples]
    apart = [permutation(sample, rng=rng, resamples=499).p <= 0.05 for sample in samples]
    assert np.mean(together) <= 0.065
    assert np.mean(apart) > 0.25


def test_drawn_p_values_are_uniform_where_nothing_changed() -> None:
    """With 40 changed queries p is uniform: 5,000 of them pass a Kolmogorov-Smirnov test at 0.001.

    A p that is a tenth too small would be found out with near certainty (the test sees a gap of 0.028 at any point).
    """
    samples = np.random.default_rng(40).normal(0, 0.3, (5_000, 40)).clip(-1, 1)
    rng = np.random.default_rng(41)
    for alternative in ("less", "two-sided"):
        p_values = [permutation(sample, rng=rng, resamples=999, alternative=alternative).p for sample in samples]  # type: ignore[arg-type]
        assert stats.kstest(p_values, "uniform").pvalue > 0.001


def test_a_p_is_never_below_a_level_more_often_than_the_level() -> None:
    """With scores as they are, of which few change, the exact test is at or below each level, never above.

    Of 5,000 experiments: four standard errors are the room.
    """
    samples, rng = differences(50, (5_000, 30)), np.random.default_rng(51)
    p = np.array([permutation(sample, rng=rng, resamples=999, alternative="less").p for sample in samples])
    for level in (0.01, 0.05, 0.2):
        rate = np.mean(p <= level)
        assert rate <= level + 4 * math.sqrt(level * (1 - level) / 5_000)
        assert rate > level / 4


@pytest.mark.parametrize(("sides", "alternative"), [(1, "less"), (2, "two-sided")])
def test_power_is_how_often_real_scores_show_the_drop(sides: int, alternative: str) -> None:
    """The formula assumes a normal distribution; on simulated scores the test finds a drop within 5 points of it.

    Of 4,000 experiments with 40 queries: the standard error is 0.8 points.
    """
    samples = differences(60, (4_000, 40), harm=0.3)
    rate = np.mean([paired_t(sample, alternative=alternative).p <= 0.05 for sample in samples])  # type: ignore[arg-type]
    expected = power(40, float(samples.mean()), float(samples.std()), sides=sides)
    assert 0.3 < expected < 0.9
    assert rate == pytest.approx(expected, abs=0.05)
