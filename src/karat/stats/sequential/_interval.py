"""The confidence sequence: the means that are not refuted, at every number of units at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from karat.stats._bisection import bisect
from karat.stats._sample import check_share
from karat.stats.sequential._betting import weigh_above, weigh_below
from karat.stats.sequential._tally import HIGH, LOW, Tally

_TOLERANCE = 1e-9


def confidence_sequence(tally: Tally, alpha: float = 0.05) -> tuple[float, float]:
    """Return the ends of the interval of means m with (E+(m) + E-(m)) / 2 < 1 / alpha.

    With probability 1 - alpha it holds the true mean at every look, however many there are. E+ and E- are convex in m
    (products of factors that are linear in 1 / (m - low), with coefficients that are not negative), and neither is
    above 1 at the mean of the sample. So the set is an interval around that mean, and each end is one root.

    >>> [round(end, 4) for end in confidence_sequence(Tally.from_counts({0: 100}))]
    [-0.0523, 0.0523]
    >>> confidence_sequence(Tally())
    (-1.0, 1.0)
    """
    check_share("alpha", alpha)
    centre = tally.mean
    if centre is None:
        return LOW, HIGH
    values, counts, limit = tally.values, tally.counts, math.log(2 / alpha)

    def excess(mean: float) -> float:
        return float(np.logaddexp(weigh_above(values, counts, mean), weigh_below(values, counts, mean))) - limit

    return centre - _reach(excess, centre, -1), centre + _reach(excess, centre, 1)


def _reach(evidence: Callable[[float], float], centre: float, side: int) -> float:
    """Return how far the interval reaches from the mean to one side, at most to the bound of a difference."""

    def excess(distance: float) -> float:
        return evidence(centre + side * distance)

    most = (HIGH - centre) if side > 0 else (centre - LOW)
    edge = most * (1 - 1e-12)  # the bound itself divides by 0
    if edge <= 0 or not LOW < centre + side * edge < HIGH or excess(edge) < 0:
        return most
    if not LOW < centre < HIGH:  # all differences are at a bound: the other end is found from just inside of it
        return bisect(lambda distance: excess(max(distance, _TOLERANCE)), 0.0, edge, _TOLERANCE)
    return bisect(excess, 0.0, edge, _TOLERANCE)
