"""Shares of things that come in clusters, as the queries of a session do."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

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
    effective = float(clusters)  # if all clusters agree, they say how sure it is, and not what is in them
    if clusters > 1 and 0 < share < 1:
        variance = float(((x - share * n) ** 2).sum()) / total**2
        effective = min(share * (1 - share) / variance, total) if variance else float(clusters)
    tail, k = (1 - confidence) / 2, share * effective
    low = beta_quantiles(tail, np.array([k]), np.array([effective - k + 1]))[0] if k > 0 else 0.0
    high = beta_quantiles(1 - tail, np.array([k + 1]), np.array([effective - k]))[0] if k < effective else 1.0
    return share, float(low), float(high)
