"""Lost answers: what the scores of queries that have no answer could have been.

A query that failed has the worst score, which can shrink the spread: where it had gained, losing it would make a run
look steadier, and an inconclusive one pass. So a drop is ruled out only if it is whatever those queries would have
scored. The lower bound of a mean, mean - t s / sqrt(n), is a concave function of the differences, because s is convex:
over all possible differences of the lost queries it is lowest where each of them is the worst or the best possible.
Their ranges have the same width, so that the sum depends only on how many are at their best, and the spread is largest
if these are the ones with the least to lose. One bound for each number of them is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from karat.stats._sample import Floats, Sample, sample
from karat.stats._student import critical


def find_worst_case(differences: Floats, lost: NDArray[np.bool_], low: Floats, high: Floats, alpha: float) -> Sample:
    """Return the differences with which the lower bound of the mean at 1 - alpha is lowest.

    ``lost`` marks the queries whose difference may be anything between ``low`` and ``high``.

    >>> d, lost = np.array([0.0, 0, 0, 0, 0, 0.5]), np.array([False] * 5 + [True])
    >>> find_worst_case(d, lost, np.full(6, -0.2), np.full(6, 0.8), 0.05).values.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.8]
    """
    n = len(differences)
    worst = np.where(lost, low, differences)
    places = np.flatnonzero(lost)
    places = places[np.argsort(-low[places], kind="stable")]
    steps, squares = high[places] - low[places], high[places] ** 2 - low[places] ** 2
    sums = worst.sum() + np.concatenate([[0.0], np.cumsum(steps)])
    spreads = (worst**2).sum() + np.concatenate([[0.0], np.cumsum(squares)]) - sums**2 / n
    if n < 2:
        return sample(worst)
    bounds = sums / n - critical(n - 1, alpha) * np.sqrt(np.maximum(spreads, 0.0) / (n - 1) / n)
    best = places[: int(np.argmin(bounds))]
    worst[best] = high[best]
    return sample(worst)
