"""Shares of things that come in clusters, as the queries of a session do."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from karat.stats import crossed_variance
from karat.stats.clicks._impressions import Ints
from karat.stats.clicks._quantiles import beta_quantiles


@dataclass(slots=True)
class ShareSums:
    """What a share of things in clusters is computed from: whole numbers that add up over parts, in any order."""

    clusters: int = 0
    """Those with anything in them."""
    count: int = 0
    total: int = 0
    count_squares: int = 0
    products: int = 0
    total_squares: int = 0

    def add(self, count: int, total: int) -> None:
        """Add a cluster, in which ``count`` of ``total`` things count."""
        if total:
            self.clusters += 1
            self.count += count
            self.total += total
            self.count_squares += count * count
            self.products += count * total
            self.total_squares += total * total

    def add_all(self, counts: Ints, totals: Ints) -> None:
        """Add clusters, each with how many things count and how many there are."""
        self.clusters += int((totals > 0).sum())
        self.count += int(counts.sum())
        self.total += int(totals.sum())
        self.count_squares += int((counts * counts).sum())
        self.products += int((counts * totals).sum())
        self.total_squares += int((totals * totals).sum())

    def merge(self, other: ShareSums) -> None:
        """Add the sums of other clusters."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def estimate(self, confidence: float = 0.95) -> tuple[float, float, float]:
        """Return the share with its interval; see :func:`clustered_share`."""
        if not self.clusters:
            return math.nan, 0.0, 1.0
        x, n = self.count, self.total
        # The sum of (x - share * n)^2 over all clusters, divided by n^2: all in whole numbers, and rounded once.
        spread = self.count_squares * n * n - 2 * x * n * self.products + x * x * self.total_squares
        share, variance = x / n, spread / n**4
        return share, *_find_interval(share, variance, self.clusters, n, confidence)


def clustered_share(counts: ArrayLike, totals: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the share of things that count, with its interval; both arrays have a place for each cluster.

    Things of one cluster are alike, so that a hundred of one session say less than one each of a hundred. The interval
    is that of Clopper and Pearson with as many independent things as have the same variance. Without clusters the share
    is NaN, between 0 and 1.

    Korn and Graubard, Confidence intervals for proportions with small expected number of positive counts estimated from
    survey data, Survey Methodology 24, 1998.

    >>> [round(value, 3) for value in clustered_share([1, 0, 1, 0], [1, 1, 1, 1])]
    [0.5, 0.068, 0.932]
    >>> [round(value, 3) for value in clustered_share([5, 0, 5, 0], [5, 5, 5, 5])]
    [0.5, 0.068, 0.932]
    """
    sums = ShareSums()
    for count, total in zip(np.asarray(counts, np.int64).tolist(), np.asarray(totals, np.int64).tolist(), strict=True):
        sums.add(count, total)
    return sums.estimate(confidence)


def crossed_share(
    counted: Sequence[bool], first: Sequence[Hashable], second: Sequence[Hashable], *, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return such a share of things that come in clusters of two kinds, such as sessions and texts.

    >>> [round(value, 3) for value in crossed_share([True, False, True, False], "abcd", "abcd")]
    [0.5, 0.068, 0.932]
    >>> [round(value, 3) for value in crossed_share([True, False] * 50, range(100), "xy" * 50)]  # the same two texts
    [0.5, 0.013, 0.987]
    """
    if not counted:
        return math.nan, 0.0, 1.0
    share = sum(counted) / len(counted)
    variance = crossed_variance(np.array(counted, float), first, second, correct=False)
    clusters = min(len(set(first)), len(set(second)))
    return share, *_find_interval(share, variance, clusters, len(counted), confidence)


def _find_interval(
    share: float, variance: float, clusters: int, total: float, confidence: float
) -> tuple[float, float]:
    """Return the interval of a share with as many independent things as have the same variance."""
    effective = float(clusters)  # if all clusters agree, they say how sure it is, and not what is in them
    if clusters > 1 and 0 < share < 1:
        effective = min(share * (1 - share) / variance, total) if variance else float(clusters)
    tail, k = (1 - confidence) / 2, share * effective
    low = beta_quantiles(tail, np.array([k]), np.array([effective - k + 1]))[0] if k > 0 else 0.0
    high = beta_quantiles(1 - tail, np.array([k + 1]), np.array([effective - k]))[0] if k < effective else 1.0
    return float(low), float(high)
