"""Power of the paired t-test: the effects that a number of queries can detect, and the number that an effect needs.

The test compares the mean of n per-query differences with 0. Under an effect its statistic has the noncentral
t-distribution with n - 1 degrees of freedom and noncentrality effect / sd * sqrt(n), which is integrated here to about
twelve digits.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError
from karat.stats._bisection import bisect
from karat.stats._student import critical

_NODES = 80  # per piece; half as many would give ten digits
_REACH = 9.0  # standard deviations beyond which a normal distribution has less than 1e-18
_MOST = 10**12  # queries; beyond it the answer is "no number of queries"


LEAST_ALPHA = 1e-6
"""The least level: no realistic number of queries allows less."""


def power(n: int, effect: float, sd: float, *, alpha: float = 0.05, sides: int = 2) -> float:
    """Return the probability that a paired t-test over n queries detects an effect.

    ``effect`` is the mean of the per-query differences, of either sign, and ``sd`` their standard deviation. A
    one-sided test looks in the direction of the effect.

    >>> round(power(73, 0.05, 0.15), 3), round(power(72, 0.05, 0.15), 3)
    (0.802, 0.797)
    """
    _check(sd=sd, alpha=alpha, sides=sides)
    if n < 2:
        raise UsageError(f"power of {n} queries: a spread needs at least 2")
    if not math.isfinite(effect):
        raise UsageError(f"effect {effect} is not a finite number")
    return _power(n, abs(effect) / sd, alpha, sides)


def sample_size(effect: float, sd: float, *, power: float = 0.8, alpha: float = 0.05, sides: int = 2) -> int:
    """Return the smallest number of queries that detect an effect with this power.

    >>> [sample_size(0.05, sd) for sd in (0.15, 0.25, 0.35)]
    [73, 199, 387]
    """
    _check(sd=sd, alpha=alpha, sides=sides, power=power)
    size = abs(effect) / sd
    if not 0 < size < math.inf:
        raise UsageError(f"effect {effect} should be a finite number other than 0")
    low = high = _guess_size(size, power, alpha / sides)
    step = 1
    while high <= _MOST and _power(high, size, alpha, sides) < power:
        low, high, step = high, high + step, 2 * step
    if high > _MOST:
        raise UsageError(f"effect {effect} at a standard deviation of {sd} needs more than {_MOST:,} queries")
    fewer = low == high
    while fewer:
        low, high, step = max(1, low - step), low, 2 * step
        fewer = low > 1 and _power(low, size, alpha, sides) >= power
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(middle, size, alpha, sides) >= power else (middle, high)
    return high


def _guess_size(size: float, power: float, tail: float) -> int:
    """Return the number of queries, or one close to it, within the numbers that are searched.

    It comes from the normal distribution, with a term for the spread that is not known: Guenther, Sample size formulas
    for normal theory t tests, The American Statistician 35(4), 1981.
    """
    from statistics import NormalDist  # costs ten milliseconds to import

    normal = NormalDist()
    limit = normal.inv_cdf(1 - tail)
    root = (limit + normal.inv_cdf(power)) / max(size, 1e-9)
    return min(max(2, math.ceil(root * root + limit * limit / 2)), _MOST + 1)


def detectable(n: int, sd: float, *, power: float = 0.8, alpha: float = 0.05, sides: int = 2) -> float:
    """Return the smallest effect that n queries detect with this power.

    >>> [round(detectable(280, sd), 3) for sd in (0.15, 0.25, 0.35)]
    [0.025, 0.042, 0.059]
    """
    _check(sd=sd, alpha=alpha, sides=sides, power=power)
    if n < 2:
        raise UsageError(f"what {n} queries can detect: a spread needs at least 2")
    return _detectable(n, power, alpha, sides) * sd


def _check(*, sd: float, alpha: float, sides: int, power: float = 0.8) -> None:
    if not 0 < sd < math.inf:
        raise UsageError(f"standard deviation {sd} should be a finite number above 0")
    if not LEAST_ALPHA <= alpha < 0.5:
        raise UsageError(f"alpha {alpha} should lie between {LEAST_ALPHA:g} and 0.5")
    if sides not in (1, 2):
        raise UsageError(f"{sides} sides: a test has 1 or 2")
    if not alpha < power < 1:
        raise UsageError(f"power {power} should lie between alpha ({alpha}) and 1")


def _power(n: int, size: float, alpha: float, sides: int) -> float:
    """Return the power for an effect in units of the standard deviation."""
    limit, shift = critical(n - 1, alpha / sides), size * math.sqrt(n)
    other = _above(limit, n - 1, -shift) if sides == 2 else 0.0
    return min(1.0, _above(limit, n - 1, shift) + other)


@lru_cache(maxsize=4096)
def _detectable(n: int, power: float, alpha: float, sides: int) -> float:
    """Return the effect in units of the standard deviation, by bisection."""
    low, high = 0.0, 1.0
    while _power(n, high, alpha, sides) < power:
        low, high = high, 2 * high
    return bisect(lambda size: _power(n, size, alpha, sides) - power, low, high, 1e-13)


def _above(t: float, df: int, shift: float) -> float:
    """Return P(T > t) for a noncentral T = (Z + shift) / S, t > 0, as the mean of P(Z > t s - shift) over s.

    S is the root of a chi-squared divided by its degrees of freedom. Its density is divided by its own integral over
    the same points, which avoids the gamma function and its rounding.
    """
    s, weight = _points(t, df, shift)
    # Without its constant, and with a maximum near 1: (df - 1) ln s - df (s^2 - 1) / 2.
    density = weight * np.exp((df - 1) * np.log(s) - df * (s * s - 1) / 2)
    tails = [math.erfc(x) for x in ((t * s - shift) / math.sqrt(2)).tolist()]
    # Not a dot product: its last bit may depend on the number of threads.
    return float((density * np.array(tails)).sum()) / (2 * float(density.sum()))


def _points(t: float, df: int, shift: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points and weights for an integral over s, in pieces that end where the integrand bends."""
    width = 1.5 * _REACH / math.sqrt(2 * df)
    low, high = max(0.0, 1 - width), 1 + width
    turns = [(shift - _REACH) / t, shift / t, (shift + _REACH) / t]
    ends = [low, *sorted(x for x in {1.0, *turns} if low < x < high), high]
    x, w = _legendre()
    half = np.diff(ends)[:, None] / 2
    centre = np.array(ends[:-1])[:, None] + half
    return (centre + half * x).ravel(), (half * w).ravel()


@lru_cache(maxsize=1)
def _legendre() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, w = np.polynomial.legendre.leggauss(_NODES)
    return x, w
