"""A Bayesian comparison of two success rates, shown beside the tests; it decides nothing by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from karat.core import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Successes:
    """The number of successes among a number of attempts."""

    good: int
    tried: int

    def __post_init__(self) -> None:
        if not 0 <= self.good <= self.tried:
            raise UsageError(f"{self.good} successes of {self.tried}: expected a number from 0 to {max(self.tried, 0)}")


def probability_better(treatment: Successes, control: Successes) -> float:
    """Return the probability that the treatment's success rate is above the control's, with uniform priors.

    The rates have Beta(1 + good, 1 + bad) distributions. The probability is a finite sum, accurate to nine digits.

    >>> probability_better(Successes(good=3, tried=4), Successes(good=3, tried=4))
    0.5
    >>> round(probability_better(Successes(good=60, tried=100), Successes(good=50, tried=100)), 4)
    0.9214
    """
    if treatment == control:
        return 0.5
    a, b = 1 + control.good, 1 + control.tried - control.good
    d = 1 + treatment.tried - treatment.good
    first = math.lgamma(b + d) - math.lgamma(a + b + d) - math.lgamma(b) + math.lgamma(a + b)
    i = np.arange(treatment.good, dtype=np.float64)
    steps = np.log((a + i) * (d + i) / ((a + b + d + i) * (1 + i)))
    terms = np.exp(first + np.concatenate([[0.0], np.cumsum(steps)]))
    return min(1.0, float(terms.sum()))


def probability_most_win(wins: int, losses: int) -> float:
    """Return the probability that more than half of the pairs that differ are wins, with a uniform prior.

    The share of wins has a Beta(1 + wins, 1 + losses) distribution, which is above 1/2 with the probability that at
    most ``wins`` of wins + losses + 1 fair coins show heads.

    >>> probability_most_win(0, 0), round(probability_most_win(8, 2), 4)
    (0.5, 0.9673)
    """
    if wins < losses:
        return 1 - probability_most_win(losses, wins)
    tosses = wins + losses + 1
    beyond = np.arange(wins + 1, tosses + 1, dtype=np.float64)
    steps = np.log((tosses - beyond[:-1]) / (beyond[:-1] + 1))
    first = math.lgamma(tosses + 1) - math.lgamma(wins + 2) - math.lgamma(losses + 1) - tosses * math.log(2)
    return 1 - float(np.exp(first + np.concatenate([[0.0], np.cumsum(steps)])).sum())
