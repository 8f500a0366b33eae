"""Bisection that asks the function only where the answer is not clear yet."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 30
_CLOSE = 1e-11
_MARGIN = 1e-12  # relative; far more than the rounding errors of the functions, which are known to 12 digits or more


def bisect(excess: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the point from which an increasing function is at least 0, to a relative tolerance.

    ``excess(low)`` is negative, and ``excess(high)`` is not. The result is that of plain bisection, to the last bit:
    false position narrows the range first, with a few calls, and a step outside that range needs no call.

    >>> round(bisect(lambda x: x * x - 2, 0.0, 2.0, 1e-15), 12)
    1.414213562373
    """
    below, above = _narrow(excess, low, high)
    while high - low > tolerance * high:
        middle = (low + high) / 2
        enough = excess(middle) >= 0 if below < middle < above else middle >= above
        low, high = (low, middle) if enough else (middle, high)
    return high


def _narrow(excess: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return a narrow range that holds the point, by the Illinois method (Dowell and Jarratt 1971)."""
    start, end = excess(low), excess(high)
    side = 0
    for _ in range(_STEPS):
        if high - low <= _CLOSE * high:
            break
        point = high - end * (high - low) / (end - start)
        if not low < point < high:
            break
        value = excess(point)
        if value >= 0:
            high, end = point, value
            start = start / 2 if side > 0 else start
            side = 1
        else:
            low, start = point, value
            end = end / 2 if side < 0 else end
            side = -1
    return low - _MARGIN * high, high + _MARGIN * high
