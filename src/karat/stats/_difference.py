"""How sure a difference is while only some of the documents are judged.

Carterette, Allan and Sitaraman, Minimal test collections for retrieval evaluation, SIGIR 2006. They expect unjudged
documents to be as good as the judged ones. Where mostly relevant ones were judged, that names the wrong run: here
it is only the most that is assumed, and the confidence is that of the share that speaks most against the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from karat.core import Floats, UsageError
from karat.stats._sample import TIE

_FEWEST, _QUANTILE = 5, 1.645


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceEstimate:
    """A difference of which a part is known, and what the rest could make of it."""

    mean: float
    """The difference if unjudged documents are as good as the judged ones."""
    sd: float
    """The standard deviation of that, which is 0 if nothing is unknown."""
    judged: float
    """The difference by the judged documents alone, as if no other had a gain."""
    share: float
    """The share of unjudged documents with a gain that ``mean`` assumes."""
    highest_share: float
    """The highest share that the confidence allows for."""
    confidence: float
    """The least probability that the sign is that of ``judged``, for any share up to the highest; 0.5 if it is not
    known."""


def estimate_difference(weights: ArrayLike, gains: ArrayLike, highest: float = 1.0) -> DifferenceEstimate:
    """Return what is known about a sum of weights times gains, some of which are unknown (NaN).

    ``mean`` and ``sd`` take each unknown gain to have the mean and the variance of the known ones, to which a gain of
    0 and one of ``highest`` are added; for gains of 0 and 1 it is 1 with probability (ones + 1) / (known + 2). The
    confidence assumes less: that the same share of what is unknown has a gain on both sides, anything from none to
    the upper limit of what was judged. It is 0.5 while fewer than 5 gains of either sign of the weight are known to
    be 0, unless the sign is the same whatever the unknown gains are; then it is 1.

    >>> estimate = estimate_difference([1.0, -0.5, 0.5], [1.0, float("nan"), float("nan")])
    >>> estimate.judged, estimate.confidence
    (1.0, 1.0)
    """
    weight, gain = np.asarray(weights, np.float64), np.asarray(gains, np.float64)
    if weight.shape != gain.shape or weight.ndim != 1:
        raise UsageError(f"{weight.size} weights and {gain.size} gains; each document has one of both")
    if not np.isfinite(weight).all() or np.isinf(gain).any():
        raise UsageError("a weight or a gain is not a finite number")
    unknown = np.isnan(gain)
    known, own, open_ = gain[~unknown], weight[~unknown], weight[unknown]
    judged, size = math.fsum(own * known), math.sqrt(math.fsum(open_**2))
    better, count = int((known > 0).sum()) + 1, len(known) + 2
    share, positive = better / count, np.concatenate([known[known > 0], [highest]])
    rest = _Rest(math.fsum(open_), size, float(positive.mean()), float((positive**2).mean()))
    most = max(_limit_share(own[side], known[side]) for side in (own == own, own > 0, own < 0))
    return DifferenceEstimate(
        mean=judged + share * rest.gain * rest.weight,
        sd=rest.spread(share, share * (1 - share) / (count + 1)),
        judged=judged,
        share=share,
        highest_share=most,
        confidence=_trust(judged, rest, most, _describe_bounds(open_, highest), _tell_both(own, known)),
    )


class _Rest(NamedTuple):
    """What is unknown: the sum of the weights, the root of that of their squares, and the gains if there is one."""

    weight: float
    size: float
    gain: float
    square: float

    def spread(self, share: float, doubt: float = 0.0) -> float:
        """Return the standard deviation if a share has a gain, a share of which the variance is ``doubt``."""
        apart = max(0.0, share * self.square - (share * self.gain) ** 2) * self.size**2
        return math.sqrt(apart + doubt * (self.gain * self.weight) ** 2)


def _describe_bounds(weights: Floats, highest: float) -> tuple[float, float]:
    """Return the least and the most that unknown gains add."""
    return highest * math.fsum(weights[weights < 0]), highest * math.fsum(weights[weights > 0])


def _tell_both(weights: Floats, gains: Floats) -> bool:
    """Return whether enough without a gain is known on both sides. A list of what is relevant tells nothing else."""
    nothing = weights[gains == 0]
    return min(int((nothing > 0).sum()), int((nothing < 0).sum())) >= _FEWEST


def _trust(judged: float, rest: _Rest, most: float, bounds: tuple[float, float], both: bool) -> float:
    """Return the least probability that the sign is that of what is judged, for shares up to the most."""
    low, high = bounds
    if judged + low > TIE or judged + high < -TIE:
        return 1.0
    if abs(judged) <= TIE or not both:
        return 0.5
    distance, lean = abs(judged), math.copysign(1.0, judged) * rest.weight * rest.gain
    # The distance in standard deviations has one minimum, where its derivative is 0; it is infinite at a share of 0.
    slope = lean * rest.square + 2 * distance * rest.gain**2
    turn = distance * rest.square / slope if slope > 0 else most
    return max(0.5, min(_confidence(distance + share * lean, rest.spread(share)) for share in (min(turn, most), most)))


def _limit_share(weights: Floats, gains: Floats) -> float:
    """Return the upper limit of the share with a gain, 95 % one-sided by Wilson, weighted or not, whichever is higher.

    Documents high in a ranking are more often relevant, and have greater weights.
    """
    size = np.abs(weights)
    if not size.any():
        return 1.0
    shares = ((float((gains > 0).mean()), len(gains)), _weigh_share(size / size.max(), gains))
    return max(_limit(share, number) for share, number in shares)


def _weigh_share(size: Floats, gains: Floats) -> tuple[float, float]:
    """Return the share with a gain by weight, and how many of equal weight would tell as much."""
    return math.fsum(size[gains > 0]) / math.fsum(size), math.fsum(size) ** 2 / math.fsum(size**2)


def _limit(share: float, number: float) -> float:
    """Return the upper limit of Wilson."""
    z = _QUANTILE**2 / number
    return min(1.0, (share + z / 2 + math.sqrt(z * max(0.0, share * (1 - share)) + z**2 / 4)) / (1 + z))


def _confidence(distance: float, sd: float) -> float:
    """Return the probability that a normal variable is above 0."""
    if sd == 0:
        return 1.0 if distance > 0 else 0.5
    return math.erfc(-distance / sd / math.sqrt(2)) / 2
