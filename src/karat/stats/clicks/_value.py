"""What another way of choosing would have brought, from what was logged with known chances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyValue:
    """The mean reward of a policy that was not logged, with its interval."""

    mean: float
    low: float
    high: float
    n: int
    effective: float
    """How many impressions of the policy itself the logged ones are worth (Kish)."""
    clipped: int
    """Impressions whose weight was cut."""


def estimate_policy_value(
    rewards: ArrayLike,
    logged: ArrayLike,
    target: ArrayLike,
    *,
    clip: float = math.inf,
    self_normalised: bool = False,
    confidence: float = 0.95,
) -> PolicyValue:
    """Return the mean reward that a target policy would have had, by inverse propensity scoring.

    ``logged`` has the probability with which each impression was chosen, and ``target`` that with which the policy
    would have chosen it. A weight above ``clip`` is cut, which makes the estimate of a reward that is never negative
    too low, and never too high. The ``self_normalised`` one divides by the sum of weights, which varies less and is
    slightly biased.

    Horvitz and Thompson 1952; Ionides, Truncated importance sampling, 2008; Swaminathan and Joachims, NeurIPS 2015.

    >>> value = estimate_policy_value([1, 0, 1, 0], [0.5] * 4, [1.0, 0.0, 0.0, 1.0])
    >>> value.mean, value.effective
    (0.5, 2.0)
    """
    reward, chance, wanted = (np.asarray(values, np.float64) for values in (rewards, logged, target))
    if not reward.shape == chance.shape == wanted.shape or reward.ndim != 1:
        raise ValueError(f"{reward.shape} rewards, {chance.shape} and {wanted.shape} chances; each impression has all")
    if (chance <= 0).any() or (chance > 1).any() or (wanted < 0).any():
        raise ValueError("a logged impression had a chance above 0 and up to 1, and the policy one of 0 or more")
    ratio = wanted / chance
    weight = np.minimum(ratio, clip)
    n, total = len(reward), float(weight.sum())
    if n < 2 or not total:
        return PolicyValue(mean=math.nan, low=-math.inf, high=math.inf, n=n, effective=0.0, clipped=0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    # One impression more of the largest weight, on each side: a rare reward that was not seen may still exist.
    most = float(weight.max()) * float(max(reward.max(), 1.0))
    if self_normalised:
        mean = float((weight * reward).sum()) / total
        spread = float((weight**2 * (reward - mean) ** 2).sum()) + most**2
        error = math.sqrt(spread) / total
    else:
        mean = float((weight * reward).mean())
        spread = float(((weight * reward - mean) ** 2).sum()) + most**2
        error = math.sqrt(spread) / n
    return PolicyValue(
        mean=mean,
        low=mean - z * error,
        high=mean + z * error,
        n=n,
        effective=total**2 / float((weight**2).sum()),
        clipped=int((ratio > clip).sum()),
    )
