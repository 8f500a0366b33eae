"""How sure a difference is while only some of the documents are judged.

Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation, SIGIR 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceEstimate:
    """A difference of which a part is known, and the rest is normally distributed."""

    mean: float
    sd: float
    confidence: float
    """The probability that the sign is that of the mean; 0.5 if nothing tells them apart."""


def estimate_difference(weights: ArrayLike, gains: ArrayLike, highest: float = 1.0) -> DifferenceEstimate:
    """Return what is known about a sum of weights times gains, some of which are unknown (NaN).

    An unknown gain has the mean and the variance of the known ones, to which a gain of 0 and one of ``highest`` are
    added. For gains of 0 and 1 it is therefore 1 with probability (ones + 1) / (known + 2).

    >>> estimate = estimate_difference([1.0, -0.5, 0.5], [1.0, float("nan"), float("nan")])
    >>> estimate.mean, round(estimate.sd, 4), round(estimate.confidence, 4)
    (1.0, 0.3333, 0.9987)
    """
    weight, gain = np.asarray(weights, np.float64), np.asarray(gains, np.float64)
    if weight.shape != gain.shape or weight.ndim != 1:
        raise UsageError(f"{weight.size} weights and {gain.size} gains; each document has one of both")
    if not np.isfinite(weight).all() or np.isinf(gain).any():
        raise UsageError("a weight or a gain is not a finite number")
    unknown = np.isnan(gain)
    known = np.concatenate([gain[~unknown], [0.0, highest]])
    open_ = weight[unknown]
    mean = math.fsum(weight[~unknown] * gain[~unknown]) + float(known.mean()) * math.fsum(open_)
    sd = math.sqrt(float(known.var()) * math.fsum(open_**2))
    return DifferenceEstimate(mean=mean, sd=sd, confidence=_confidence(abs(mean), sd))


def _confidence(distance: float, sd: float) -> float:
    """Return the probability that a normal variable is on the same side of 0 as its mean."""
    if sd == 0:
        return 1.0 if distance > 0 else 0.5
    return math.erfc(-distance / sd / math.sqrt(2)) / 2
