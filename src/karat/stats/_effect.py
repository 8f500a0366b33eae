"""The size of a difference: relative to its spread, and in queries won and lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError
from karat.stats._sample import ROUNDING, TIE, sample
from karat.stats._student import gamma_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectSize:
    """A mean difference in units of the standard deviation of the differences.

    Both are None where all differences are equal and not 0, because the effect is then infinite.
    """

    d_z: float | None
    """Cohen's d for pairs: mean / standard deviation."""
    g_z: float | None
    """Hedges' g for pairs: d_z corrected for its bias with few queries; None for two."""
    n: int


def effect_size(differences: ArrayLike) -> EffectSize:
    """Return the mean of paired differences in units of their standard deviation.

    Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988; Hedges, Distribution theory for Glass's
    estimator of effect size and related estimators, Journal of Educational Statistics 6(2), 1981.

    >>> size = effect_size([0.5, 0, 0, -0.25, 0.5, 0, 0.5, 0])
    >>> round(size.d_z, 3), round(size.g_z, 3)
    (0.526, 0.467)
    """
    pairs = sample(differences, least=2)
    sd, df = pairs.sd, pairs.n - 1
    if not sd:
        nothing = abs(pairs.mean) <= ROUNDING * pairs.scale
        return EffectSize(d_z=0.0 if nothing else None, g_z=0.0 if nothing else None, n=pairs.n)
    d_z = pairs.mean / sd
    if df < 2:
        return EffectSize(d_z=d_z, g_z=None, n=pairs.n)
    unbiased = gamma_ratio((df - 1) / 2) / math.sqrt(df / 2)
    return EffectSize(d_z=d_z, g_z=d_z * unbiased, n=pairs.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class WinTieLoss:
    """The number of queries on which the candidate was better, equal, and worse."""

    wins: int
    ties: int
    losses: int

    @property
    def superiority(self) -> float | None:
        """The probability that the candidate is better on a query, counting a tie as half; None without queries."""
        n = self.wins + self.ties + self.losses
        return (self.wins + self.ties / 2) / n if n else None


def win_tie_loss(differences: ArrayLike, *, tolerance: float = TIE) -> WinTieLoss:
    """Count the differences above ``tolerance``, within it, and below minus it.

    >>> win_tie_loss([0.5, 0, -0.25, 1e-12])
    WinTieLoss(wins=1, ties=2, losses=1)
    """
    if not 0 <= tolerance < math.inf:
        raise UsageError(f"tolerance {tolerance} should be a finite number, 0 or above")
    values = sample(differences, least=0).values
    wins, losses = int(np.sum(values > tolerance)), int(np.sum(values < -tolerance))
    return WinTieLoss(wins=wins, ties=len(values) - wins - losses, losses=losses)
