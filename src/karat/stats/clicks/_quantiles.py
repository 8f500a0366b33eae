"""Quantiles of the beta and gamma distributions for whole arrays, without SciPy.

Both are found by Newton's method in the logarithm (of the odds, for the beta distribution), which bisection keeps
inside its range. Probabilities are from series and continued fractions (DLMF 8.7, 8.9 and 8.17), by Lentz's method.
A place of an array that is exact enough stays as it is while others go on, so that no result depends on what else is in
the array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EXACT = 1e-14
_CLOSE = 1e-10
_MOST_TERMS = 100_000
_MOST_STEPS = 200
_TINY = 1e-300
_FAR = 690.0
"""The logarithm of the largest number, about: the range in which quantiles are looked for."""


def gamma_quantiles(probability: float, shapes: Floats) -> Floats:
    """Return the value that a gamma variable of each shape, with scale 1, stays below with a probability.

    >>> gamma_quantiles(0.975, np.array([1.0, 10.0])).round(4).tolist()
    [3.6889, 17.0848]
    """
    logs = _log_gamma(shapes)

    def compute(u: Floats) -> tuple[Floats, Floats]:
        x = np.exp(u)
        return _gamma_below(shapes, x, logs), np.exp(shapes * u - x - logs)

    start = np.log(shapes) + NormalDist().inv_cdf(probability) / np.sqrt(shapes)
    return np.exp(_solve(compute, probability, np.where(shapes < 1, (math.log(probability) + logs) / shapes, start)))


def beta_quantiles(probability: float, a: Floats, b: Floats) -> Floats:
    """Return the value that a beta variable with each two shapes stays below with a probability.

    >>> beta_quantiles(0.025, np.array([3.0]), np.array([8.0])).round(4).tolist()
    [0.0667]
    """
    logs = _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)

    def compute(u: Floats) -> tuple[Floats, Floats]:
        # log x and log (1 - x) of odds exp(u), without losing digits at either end
        log_x, log_y = -np.logaddexp(0, -u), -np.logaddexp(0, u)
        front = np.exp(logs + a * log_x + b * log_y)
        return _beta_below(a, b, np.exp(log_x), front), front

    spread = np.sqrt(1 / np.maximum(a, 1) + 1 / np.maximum(b, 1))
    u = _solve(compute, probability, np.log(a) - np.log(b) + NormalDist().inv_cdf(probability) * spread)
    return np.exp(-np.logaddexp(0, -u))


def _solve(compute: Callable[[Floats], tuple[Floats, Floats]], probability: float, start: Floats) -> Floats:
    """Return where an increasing function, given with its slope, has a value; by Newton's method inside a range."""
    u, low, high = np.clip(start, -_FAR, _FAR), np.full(start.shape, -_FAR), np.full(start.shape, _FAR)
    done = np.zeros(start.shape, np.bool_)
    for _ in range(_MOST_STEPS):
        value, slope = compute(u)
        below = value < probability
        low, high = np.where(below, u, low), np.where(below, high, u)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            point = u - (value - probability) / slope
        point = np.where((point >= low) & (point <= high), point, (low + high) / 2)
        is_close = np.abs(point - u) <= _CLOSE
        u = np.where(done, u, point)
        done |= is_close
        if done.all():
            break
    return u


def _log_gamma(values: Floats) -> Floats:
    return np.array([math.lgamma(value) for value in values.tolist()], np.float64)


def _gamma_below(a: Floats, x: Floats, logs: Floats) -> Floats:
    """Return P(a, x), the regularised incomplete gamma function."""
    result, small = np.empty(a.shape), x < a + 1
    front = np.exp(a * np.log(np.maximum(x, _TINY)) - x - logs)
    if small.any():
        own, point = a[small], x[small]
        term, total, place = 1 / own, 1 / own, own.copy()
        for _ in range(_MOST_TERMS):
            place += 1
            term = term * point / place
            total += term
            term[term <= total * _EXACT] = 0.0
            if not term.any():
                break
        result[small] = front[small] * total
    if not small.all():
        result[~small] = 1 - front[~small] * _gamma_fraction(a[~small], x[~small])
    return result


def _gamma_fraction(a: Floats, x: Floats) -> Floats:
    """Return the continued fraction of Q(a, x) without its factor."""
    b = x + 1 - a
    c, d = np.full(a.shape, 1 / _TINY), 1 / b
    value, done = d.copy(), np.zeros(a.shape, np.bool_)
    for n in range(1, _MOST_TERMS):
        over = -n * (n - a)
        b = b + 2
        d = 1 / _not_zero(over * d + b)
        c = _not_zero(b + over / c)
        value = np.where(done, value, value * (d * c))
        done |= np.abs(d * c - 1) <= _EXACT
        if done.all():
            break
    return value


def _beta_below(a: Floats, b: Floats, x: Floats, front: Floats) -> Floats:
    """Return I_x(a, b), the regularised incomplete beta function; ``front`` is x^a (1 - x)^b / B(a, b)."""
    turned = x > (a + 1) / (a + b + 2)
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    value = front * _beta_fraction(first, second, np.where(turned, 1 - x, x)) / first
    return np.where(turned, 1 - value, value)


def _beta_fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    c, d = np.ones(a.shape), 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value, done = d.copy(), np.zeros(a.shape, np.bool_)
    for n in range(1, _MOST_TERMS):
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        d, c = 1 / _not_zero(1 + even * d), _not_zero(1 + even / c)
        step = d * c
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        d, c = 1 / _not_zero(1 + odd * d), _not_zero(1 + odd / c)
        value = np.where(done, value, value * step * (d * c))
        done |= np.abs(d * c - 1) <= _EXACT
        if done.all():
            break
    return value


def _not_zero(values: Floats) -> Floats:
    return np.where(np.abs(values) < _TINY, _TINY, values)
