"""Student's t-distribution, from the incomplete beta function: probabilities and quantiles without SciPy.

P(T > t) = I_x(df/2, 1/2) / 2 with x = df / (df + t^2). The continued fraction converges fast where x lies below the
mean of the beta distribution, and the symmetry I_x(a, b) = 1 - I_y(b, a), y = 1 - x, brings every x there. It is
written in y and in a y - b x, which keep all their digits where x is near 1. Probabilities are accurate to 13 digits,
however small they are and however many degrees of freedom there are.

Didonato and Morris, Algorithm 708: significant digit computation of the incomplete beta function ratios, ACM
Transactions on Mathematical Software 18(3), 1992; DLMF 5.11 for the ratio of gamma functions.
"""

from __future__ import annotations

import math
from functools import lru_cache

from karat.stats._bisection import bisect

_MOST_STEPS = 100_000


def above(t: float, df: int) -> float:
    """Return P(T > t).

    >>> round(above(2.0, 10), 6), round(above(-2.0, 10), 6)
    (0.036694, 0.963306)
    """
    if t < 0:
        return 1 - above(-t, df)
    a, ratio = df / 2, t * t / df
    x, y = 1 / (1 + ratio), ratio / (1 + ratio)
    front = math.exp(-a * math.log1p(ratio)) * math.sqrt(y / math.pi) * gamma_ratio(a)
    if t > 1:
        return front * _fraction(a, 0.5, x, y) / 2
    return (1 - front * _fraction(0.5, a, y, x)) / 2


@lru_cache(maxsize=4096)
def critical(df: int, tail: float) -> float:
    """Return the value that T exceeds with probability ``tail``, which is below one half; by bisection.

    >>> round(critical(29, 0.05), 4)
    1.6991
    """
    low, high = 0.0, 2.0
    while above(high, df) > tail:
        low, high = high, 2 * high
    return bisect(lambda t: tail - above(t, df), low, high, 1e-15)


def gamma_ratio(a: float) -> float:
    """Return gamma(a + 1/2) / gamma(a), without logarithms, whose digits before the point would be lost after it."""
    if a < 40:
        return math.gamma(a + 0.5) / math.gamma(a)
    b = 1 / (a * a)
    series = -1 / 8 + b * (1 / 192 + b * (-1 / 640 + b * (17 / 14336 - b * 31 / 18432)))
    return math.sqrt(a) * math.exp(series / a)


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b) without the factor x^a y^b / B(a, b): a continued fraction, by Lentz's method."""
    middle = a * y - b * x + 1
    value = denominator = a * middle / (a + 1)
    inverse = 0.0
    for n in range(1, _MOST_STEPS):
        place = a + 2 * n - 1
        over = (a + n - 1) * (a + b + n - 1) * n * (b - n) * x * x / (place * place)
        under = n + n * (b - n) * x / place + (a + n) / (place + 2) * (middle + n * (1 + y))
        inverse = 1 / (under + over * inverse)
        denominator = under + over / denominator
        value *= denominator * inverse
        if abs(denominator * inverse - 1) < 1e-16:
            return 1 / value
    raise AssertionError(f"the fraction at a={a}, b={b}, x={x} does not converge")
