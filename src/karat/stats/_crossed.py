"""Means of values that depend on each other in two ways at once: calls of one session, and calls with the same text."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.stats._sample import cluster_codes, finite
from karat.stats._student import critical


def crossed_variance(
    values: ArrayLike, first: Sequence[Hashable], second: Sequence[Hashable], *, correct: bool = True
) -> float:
    """Return the variance of a mean whose values depend on each other within the clusters of two kinds.

    It is the variance by the first kind and by the second, less that by both together, and never less than either.
    With ``correct`` each has the factor G / (G - 1) of its G clusters. Cameron, Gelbach and Miller, Robust inference
    with multiway clustering, Journal of Business and Economic Statistics 29, 2011.

    >>> values = [1.0, 0.0, 1.0, 0.0]
    >>> crossed_variance(values, "abcd", "abcd", correct=False), crossed_variance(values, "abcd", "xyxy", correct=False)
    (0.0625, 0.125)
    """
    array = finite(values, "values")
    residuals = array - array.mean()
    kinds = [cluster_codes(labels, len(array)) for labels in (first, second, list(zip(first, second, strict=True)))]
    by_first, by_second, both = (_add_squares(residuals, *kind, correct=correct) for kind in kinds)
    return max(by_first + by_second - both, by_first, by_second) / len(array) ** 2


def _add_squares(residuals: NDArray[np.float64], codes: NDArray[np.intp], count: int, *, correct: bool) -> float:
    """Return the sum of the squared sums of clusters."""
    sums = np.bincount(codes, weights=residuals, minlength=count)
    factor = count / (count - 1) if correct and count > 1 else 1.0
    return factor * float((sums * sums).sum())


def crossed_interval(
    values: ArrayLike, first: Sequence[Hashable], second: Sequence[Hashable], *, level: float = 0.95
) -> tuple[float, float] | None:
    """Return the t interval of such a mean; None with fewer than two clusters of either kind.

    There is one degree of freedom fewer than the rarer kind has clusters.

    >>> low, high = crossed_interval([0.5, 0, 0, -0.25, 0.5, 0, 0.5, 0], range(8), range(8)) or (0, 0)
    >>> round(low, 3), round(high, 3)  # that of a paired t
    (-0.092, 0.404)
    """
    units = min(len(set(first)), len(set(second)))
    if units < 2:
        return None
    mean = float(np.mean(finite(values, "values")))
    reach = critical(units - 1, (1 - level) / 2) * math.sqrt(crossed_variance(values, first, second))
    return mean - reach, mean + reach
