"""Shares of things that come in clusters, as the queries of a session do."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from karat.stats import crossed_variance
from karat.stats.clicks._quantiles import beta_quantiles


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
    x, n = np.asarray(counts, np.float64), np.asarray(totals, np.float64)
    x, n = x[n > 0], n[n > 0]
    clusters, total = len(n), float(n.sum())
    if not clusters:
        return math.nan, 0.0, 1.0
    share = float(x.sum()) / total
    variance = float(((x - share * n) ** 2).sum()) / total**2
    return share, *_find_interval(share, variance, clusters, total, confidence)


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
