"""Shares with Wilson's interval, and a test whether labelled items are like all others."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from karat.stats.trust._estimate import Estimate


def estimate_share(count: float, total: int, *, confidence: float = 0.95) -> Estimate:
    """Return a share with Wilson's interval.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22, 1927.

    >>> share = estimate_share(8, 10)
    >>> round(share.value, 3), round(share.low, 3), round(share.high, 3)
    (0.8, 0.49, 0.943)
    """
    if not total:
        return Estimate(value=math.nan, low=math.nan, high=math.nan)
    share, z = count / total, NormalDist().inv_cdf((1 + confidence) / 2)
    shrink = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / shrink
    margin = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / shrink
    return Estimate(value=share, low=max(middle - margin, 0.0), high=min(middle + margin, 1.0))


def check_draw(drawn: ArrayLike, rest: ArrayLike) -> float:
    """Return the p-value of the hypothesis that items were drawn at random: whether their scores are like the others.

    The test of Kolmogorov and Smirnov, with Stephens' correction for small samples. Where scores are tied, as those of
    0 and 1, it refuses less often than it says.

    Stephens, Use of the Kolmogorov-Smirnov, Cramer-von Mises and related statistics, JRSS B 32, 1970.

    >>> check_draw([0.1, 0.5, 0.9] * 10, [0.1, 0.5, 0.9] * 30), check_draw([0.1] * 30, [0.1, 0.5, 0.9] * 30) < 0.001
    (1.0, True)
    """
    first, second = (np.sort(np.asarray(values, np.float64)) for values in (drawn, rest))
    if not len(first) or not len(second):
        return 1.0
    points = np.concatenate([first, second])
    shares = [np.searchsorted(values, points, side="right") / len(values) for values in (first, second)]
    distance = float(np.abs(shares[0] - shares[1]).max())
    size = math.sqrt(len(first) * len(second) / (len(first) + len(second)))
    scaled = (size + 0.12 + 0.11 / size) * distance
    if scaled < 0.3:  # the series converges slowly, and its sum is 1 to six digits
        return 1.0
    series = math.fsum((-1) ** (k - 1) * math.exp(-2 * k * k * scaled * scaled) for k in range(1, 101))
    return min(max(2 * series, 0.0), 1.0)
