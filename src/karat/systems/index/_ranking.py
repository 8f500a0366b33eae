"""The best of many scores, in an order that never depends on chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError


def best(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Give the places of the k highest scores, best first; of equal scores the earlier place comes first.

    >>> best(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist()
    [1, 3, 2]
    """
    if k < len(scores):
        # A partition alone would choose freely among those that equal the last one.
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > last)
        equal = np.flatnonzero(scores == last)[: k - len(above)]
        chosen = np.sort(np.concatenate([above, equal]))
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def check_k(k: int) -> int:
    """Refuse to look for nothing."""
    if k < 1:
        raise UsageError(f"k={k}; ask for at least one hit")
    return k
