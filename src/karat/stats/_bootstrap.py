"""Bootstrap intervals of a mean difference: how the mean varies over samples of queries.

Pairs are drawn with replacement, whole clusters at a time where there are labels. Memory is bounded, whatever the
number of pairs. There is no linear algebra, so that results have the same bits on any number of threads. Of more than
512 pairs it is drawn how many come from each group of equal or nearly equal ones, where that is cheaper: for very many
pairs it takes a thousandth of the draws.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13 and 14.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError, did_you_mean
from karat.stats._quantiles import quantiles
from karat.stats._sample import ROUNDING, Floats, Sample, check_resamples, check_share, sample

Method = Literal["percentile", "bca"]

_AT_ONCE = 1 << 16  # indices drawn at once: with the values that they select they fit the cache, below 2 MB
_FEW = 1 << 9  # pairs, which are always drawn one by one
_SINGLE, _GROUPS = 16, 32
"""The greatest and the smallest pairs, which are drawn one by one, and the groups of those between."""
_DRAWS = 24
"""Pairs that can be drawn in the time in which it is drawn how many come from a group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean difference with its confidence interval at ``level``."""

    estimate: float
    low: float
    high: float
    level: float
    method: Method
    resamples: int
    n: int
    clusters: int | None = None

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 lies outside the interval."""
        return self.low > 0 or self.high < 0


def bootstrap(
    differences: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    method: Method = "percentile",
    clusters: Iterable[object] | None = None,
) -> Interval:
    """Return the bootstrap interval of the mean of paired differences.

    ``clusters`` has a label for each difference: paraphrases and repeats of one query share a label, and are drawn
    together. ``"bca"`` corrects bias and skewness, which helps where the mean moved. Where it did not, and few queries
    changed, both intervals are too short, and that of ``paired_t`` is better: with 50 queries of which 12 changed, a
    nominal 95 % is 92 %, with ``"bca"`` 88 %, with ``paired_t`` 95 %.

    >>> interval = bootstrap([0.5, 0, 0, -0.25, 0.5, 0, 0.5, 0], rng=np.random.default_rng(1))
    >>> interval.estimate, round(interval.low, 3), round(interval.high, 3)
    (0.15625, -0.031, 0.375)
    """
    if method not in get_args(Method):
        raise UsageError(f"unknown method {method!r}{did_you_mean(str(method), get_args(Method))}")
    check_resamples(resamples)
    check_share("level", level)
    pairs = sample(differences, clusters, least=2)
    means = resampled_means(pairs, rng, resamples)
    tails = ((1 - level) / 2, (1 + level) / 2)
    low, high = quantiles(means, _corrected(pairs, means, tails) if method == "bca" else tails)
    return Interval(
        estimate=pairs.mean,
        low=low,
        high=high,
        level=level,
        method=method,
        resamples=resamples,
        n=pairs.n,
        clusters=pairs.clusters,
    )


def resampled_means(pairs: Sample, rng: np.random.Generator, resamples: int) -> Floats:
    """Return the mean of each resample."""
    if not pairs.sums.any():
        return np.zeros(resamples)  # nothing changed, as in most checks
    even = bool((pairs.sizes == pairs.sizes[0]).all())
    if even and pairs.units > _FEW:
        ordered = np.sort(pairs.sums)
        begins = _find_groups(ordered)
        if _DRAWS * len(begins) < pairs.units:
            return _grouped_sums(ordered, begins, rng, resamples) / pairs.n
    rows, columns = max(1, _AT_ONCE // pairs.units), min(pairs.units, _AT_ONCE)
    sums, sizes = np.zeros(resamples), np.zeros(resamples)
    for start in range(0, resamples, rows):
        part = slice(start, min(start + rows, resamples))
        for left in range(0, pairs.units, columns):
            shape = part.stop - start, min(columns, pairs.units - left)
            drawn = _indices(rng, pairs.units, shape)
            sums[part] += pairs.sums[drawn].sum(axis=1)
            if not even:
                sizes[part] += pairs.sizes[drawn].sum(axis=1)
    return sums / (pairs.n if even else sizes)


def _find_groups(ordered: Floats) -> NDArray[np.intp]:
    """Return where groups of equal or nearly equal values begin among values in order.

    The greatest and the smallest values are groups of their own, and so is a value that many queries have.
    """
    n = len(ordered)
    inner = np.linspace(_SINGLE, n - _SINGLE, _GROUPS + 1).astype(np.int64)
    cuts = ordered[np.concatenate([np.arange(_SINGLE), inner, np.arange(n - _SINGLE, n)])]
    # Moved to where the value changes, so that a value that many queries have is a group of its own.
    begins = np.unique([np.searchsorted(ordered, cuts, "left"), np.searchsorted(ordered, cuts, "right")])
    return begins[begins < n]


def _grouped_sums(ordered: Floats, begins: NDArray[np.intp], rng: np.random.Generator, resamples: int) -> Floats:
    """Return the sum of each resample of very many values, which are in order and in groups.

    How many values come from each group is multinomial. The sum of those has the group's mean and variance, and is
    normal; it is exact where all values of a group are equal, as those of unchanged queries are.
    """
    n = len(ordered)
    sizes = np.diff(begins, append=n)
    means = np.add.reduceat(ordered, begins) / sizes
    away = ordered - np.repeat(means, sizes)
    variances = np.add.reduceat(away * away, begins) / sizes
    sums = np.empty(resamples)
    rows = _AT_ONCE // len(begins)
    for start in range(0, resamples, rows):
        counts = rng.multinomial(n, sizes / n, min(rows, resamples - start))
        noise = rng.standard_normal(len(counts)) * np.sqrt((counts * variances).sum(axis=1))
        sums[start : start + rows] = (counts * means).sum(axis=1) + noise
    return sums


def _indices(rng: np.random.Generator, n: int, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Draw indices below n uniformly, like ``rng.integers``, in two thirds of the time.

    A random word of 32 bits times n has the index in its upper half. Where the lower half is below 2^32 modulo n the
    index would be too likely, and is drawn again. Lemire, Fast random integer generation in an interval, 2019.
    """
    if n >= 2**32:
        return rng.integers(0, n, shape)
    count = shape[0] * shape[1]
    words = rng.integers(0, 2**64, -(-count // 2), dtype=np.uint64).view(np.uint32)[:count]
    product = words * np.uint64(n)
    again = np.flatnonzero(product.astype(np.uint32) < np.uint32(2**32 % n))
    product >>= np.uint64(32)
    if len(again):
        product[again] = rng.integers(0, n, len(again), dtype=np.uint64)
    return product.view(np.int64).reshape(shape)


def _corrected(pairs: Sample, means: Floats, tails: tuple[float, float]) -> tuple[float, float]:
    """Return the percentiles of the accelerated interval in place of the plain ones."""
    from statistics import NormalDist  # costs ten milliseconds, and most intervals do not need it

    normal = NormalDist()
    near = ROUNDING * pairs.scale
    below = (means < pairs.mean - near).sum() + (means <= pairs.mean + near).sum()
    # Bounded by half a resample, or one side could be infinitely far.
    share = min(max(float(below) / 2, 0.5), len(means) - 0.5) / len(means)
    bias, acceleration = normal.inv_cdf(share), _acceleration(pairs)

    def shifted(tail: float) -> float:
        z = bias + normal.inv_cdf(tail)
        slope = 1 - acceleration * z
        if slope <= 0:  # so skewed that the correction runs past the last resample
            return float(z > 0)
        return normal.cdf(bias + z / slope)

    return shifted(tails[0]), shifted(tails[1])


def _acceleration(pairs: Sample) -> float:
    """Return a sixth of the skewness of the mean, from the means that leave one cluster out."""
    means = (pairs.sums.sum() - pairs.sums) / (pairs.n - pairs.sizes)
    away = means.mean() - means
    if float(np.abs(away).max()) <= ROUNDING * pairs.scale / pairs.n:
        return 0.0
    return float((away**3).sum()) / (6 * math.pow(float((away * away).sum()), 1.5))
