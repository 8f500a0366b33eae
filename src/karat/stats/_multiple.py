"""Several tests at once: p-values corrected so that more questions do not mean more false alarms.

Each function gives the adjusted p-values in the order of the given ones; compare them with the level as they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError
from karat.stats._sample import Floats, finite


def bonferroni(p: ArrayLike) -> Floats:
    """Multiply by the number of tests: the chance of any false alarm stays below the level.

    >>> bonferroni([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.12, 1.0]
    """
    values = _probabilities(p)
    return np.minimum(values * len(values), 1.0)


def holm(p: ArrayLike) -> Floats:
    """Correct step by step from the smallest: the same promise as Bonferroni's, and never a larger p.

    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2), 1979.

    >>> holm([0.01, 0.04, 0.5]).tolist()
    [0.03, 0.08, 0.5]
    """
    values = _probabilities(p)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    return _back(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Control the share of false alarms among the alarms, for tests that are independent or move together.

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
    """Put adjusted values into the order of the given ones."""
    adjusted = np.empty_like(steps)
    adjusted[order] = steps
    return adjusted
