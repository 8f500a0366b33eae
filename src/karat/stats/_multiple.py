"""Corrections of p-values for several tests, so that more tests do not mean more false alarms.

Each function returns adjusted p-values in the order of its argument, to be compared with the level as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError
from karat.stats._sample import Floats, finite


def bonferroni(p: ArrayLike) -> Floats:
    """Return p-values multiplied by the number of tests: the probability of any false alarm stays below the level.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    values = _probabilities(p)
    return np.minimum(values * len(values), 1.0)


def holm(p: ArrayLike) -> Floats:
    """Return p-values corrected step by step, from the smallest: the guarantee of Bonferroni, and never a larger p.

    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2), 1979.

    >>> holm([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.08, 0.5]
    """
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    return _back(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Return p-values that control the share of false alarms among the alarms.

    The tests should be independent or positively dependent.

    Benjamini and Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57, 1995.

    >>> benjamini_hochberg([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.06, 0.5]
    """
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")[::-1]
    steps = values[order] * (len(values) / np.arange(len(values), 0, -1))
    return _back(np.minimum(np.minimum.accumulate(steps), 1.0), order)


def _probabilities(p: ArrayLike) -> Floats:
    values = finite(p, "p")
    bad = np.flatnonzero((values < 0) | (values > 1))
    if len(bad):
        raise UsageError(f"p[{bad[0]}] is {values[bad[0]]}; a p-value lies between 0 and 1")
    return values


def _back(steps: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    """Return adjusted values in the order of the original ones."""
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted
