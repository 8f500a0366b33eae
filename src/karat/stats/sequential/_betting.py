"""A mixture-betting e-process: evidence on the mean of bounded differences that is valid whenever it is looked at.

Somebody bets at each difference that the mean is above m, a share l of what they own at odds that are fair if it is
not. What they own is then expected not to grow, and by Ville's inequality ever reaches 1/alpha with probability at most
alpha, whatever the distribution, however skewed, and however often one looks. The shares of ``BETS`` are bet beside
each other with an equal part of the money:

    E+(m) = mean over l of the product of 1 + l / (m - low) * (d - m)     against a mean of at most m
    E-(m) = mean over l of the product of 1 - l / (high - m) * (d - m)    against a mean of at least m

Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86(1), 2024.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError
from karat.stats.sequential._tally import HIGH, LOW, Tally

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

BETS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_SHARES: Floats = np.array(BETS)


def log_e_above(tally: Tally, mean: float = 0.0) -> float:
    """Return log E+: the evidence that the mean difference is above ``mean``. log(20) is enough at a level of 5 %.

    >>> round(log_e_above(Tally.from_counts({1: 5, 0: 95})), 4)
    2.3076
    """
    _check_mean(mean)
    return weigh_above(tally.values, tally.counts, mean)


def log_e_below(tally: Tally, mean: float = 0.0) -> float:
    """Return log E-: the evidence that the mean difference is below ``mean``.

    >>> round(log_e_below(Tally.from_counts({0: 100}), 0.05), 4)
    3.4802
    """
    _check_mean(mean)
    return weigh_below(tally.values, tally.counts, mean)


def trace_log_e(differences: ArrayLike, mean: float = 0.0) -> Floats:
    """Return log E+ after each difference. The last axis is time; the others hold independent trials.

    >>> trace_log_e([1, 1, -1]).round(3).tolist()
    [0.386, 0.814, -0.088]
    """
    _check_mean(mean)
    values = np.asarray(differences, np.float64)
    if not bool(((values >= LOW) & (values <= HIGH)).all()):
        raise UsageError(f"a difference is not between {LOW:g} and {HIGH:g}")
    rows = ((values - mean) / (mean - LOW)).reshape(-1, values.shape[-1] if values.ndim else 1)
    traced = [_trace(row) for row in rows] or [np.empty(0)]
    return np.stack(traced).reshape(values.shape)


def _trace(gains: Floats) -> Floats:
    """Return the logarithm of the mean over all bets after each gain."""
    distinct, places = np.unique(gains, return_inverse=True)  # few values are frequent, and logarithms are slow
    wealth = np.cumsum(np.log1p(np.outer(_SHARES, distinct))[:, places], axis=1)
    top: Floats = wealth.max(axis=0)
    return np.asarray(top + np.log(np.exp(wealth - top).mean(axis=0)))


def weigh_above(values: Floats, counts: Counts, mean: float) -> float:
    """Return log E+ of values that are known to be differences."""
    return _combine((values - mean) / (mean - LOW), counts)


def weigh_below(values: Floats, counts: Counts, mean: float) -> float:
    """Return log E- of values that are known to be differences."""
    return _combine((mean - values) / (HIGH - mean), counts)


def _combine(gains: Floats, counts: Counts) -> float:
    """Return the logarithm of the mean over all bets, each of which won ``gains`` so many times."""
    wealth = np.array([float((np.log1p(share * gains) * counts).sum()) for share in BETS])
    top = wealth.max()
    return float(top + np.log(np.exp(wealth - top).mean()))


def _check_mean(mean: float) -> None:
    if not LOW < mean < HIGH:
        raise UsageError(f"a mean of {mean} should lie between {LOW:g} and {HIGH:g}")
