"""The best of many scores, in a deterministic order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError


def best(scores: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the places of the k highest scores, best first; equal scores in the order of their places.

    >>> best(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3).tolist()
    [1, 3, 2]
    """
    if k < len(scores):
        # A partition alone would choose arbitrarily among the scores that equal the last one.
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > last)
        equal = np.flatnonzero(scores == last)[: k - len(above)]
        chosen = np.sort(np.concatenate([above, equal]))
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def check_k(k: int) -> int:
    """Raise UsageError if k is below 1."""
    if k < 1:
        raise UsageError(f"k={k}; ask for at least one hit")
    return k
