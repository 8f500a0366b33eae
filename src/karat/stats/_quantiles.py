"""Quantiles of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

T = TypeVar("T")


def quantiles(values: ArrayLike, shares: Sequence[float]) -> list[float]:
    """Return the quantile for each share, interpolated linearly between two values; NaN if a value is.

    They are those of ``np.quantile`` to the last bit, which imports masked arrays at its first use: that takes as long
    as a hundred calls.

    >>> quantiles([3.0, 1.0, 2.0], (0.0, 0.5, 0.75))
    [1.0, 2.0, 2.5]
    """
    ordered = np.sort(np.asarray(values, float), axis=None)
    last = len(ordered) - 1
    if np.isnan(ordered[-1]):  # they come last
        return [np.nan] * len(shares)
    results = []
    for share in shares:
        place = last * share
        below = min(int(place), last)
        low, high = float(ordered[below]), float(ordered[min(below + 1, last)])
        rest = place - below
        # From the nearer end, so that rounding never leads past a value.
        results.append(low + (high - low) * rest if rest < 0.5 else high - (high - low) * (1 - rest))
    return results


def pick_evenly(values: Sequence[T], most: int) -> list[T]:
    """Return at most ``most`` values, spread evenly among all of them; for sorted numbers, these are quantiles.

    >>> pick_evenly([1, 2, 3], 5), pick_evenly(range(100), 4)
    ([1, 2, 3], [12, 37, 62, 87])
    """
    if len(values) <= most:
        return list(values)
    return [values[(2 * place + 1) * len(values) // (2 * most)] for place in range(most)]
