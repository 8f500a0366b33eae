"""Means of a judge's scores, corrected by the labels of people: prediction-powered inference.

A judge scores every item, and people label some of them, drawn at random. The labels say how far the judge is off, and
the judge's scores of all other items make the estimate more precise than the labels alone would be. A judge that knows
nothing gets no weight, so that the interval is never much wider than that of the labels.

Angelopoulos, Duchi and Zrnic, PPI++: Efficient prediction-powered inference, 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.stats._student import above, critical

LEAST_LABELS = 20
"""With fewer labels a judge's error is not known well enough: the estimate is that of the labels alone."""
_PAIRS = np.array([[1.0, 0.0], [0.0, 1.0]])
"""A good item that the judge calls bad, and a bad one that it calls good, which are added to labels of 0 and 1: without
them an interval is too narrow, since a sample of a hundred may by chance have no item on which the judge is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedMean:
    """The mean of what people would say of all items, with its interval."""

    mean: float
    low: float
    high: float
    weight: float
    """How much the judge counts, from 0 (the labels alone) to 1."""
    labels: int
    """How many items people have labelled."""
    judged: int
    """How many items only the judge has scored."""
    judge_mean: float
    """The mean of the judge's scores of all items, not corrected."""
    reason: str = ""
    """Why the judge does not count; empty if it does."""
    error: float = math.inf
    """The standard error of the mean; infinite if it is not known."""

    @property
    def degrees(self) -> int:
        """The degrees of freedom of the interval, at least 1."""
        return max(self.labels - 1, 1)

    @property
    def p_below(self) -> float:
        """The one-sided p-value against the hypothesis that the mean is 0 or more."""
        return self._tail(-self.mean)

    @property
    def p_above(self) -> float:
        """The one-sided p-value against the hypothesis that the mean is 0 or less."""
        return self._tail(self.mean)

    def _tail(self, distance: float) -> float:
        if not math.isfinite(self.error):
            return 1.0
        return above(distance / self.error, self.degrees) if self.error else float(distance <= 0)

    def bound(self, tail: float, *, upper: bool = False) -> float:
        """Return the one-sided confidence limit of the mean that is wrong with probability ``tail``."""
        margin = critical(self.degrees, tail) * self.error if math.isfinite(self.error) else math.inf
        return self.mean + margin if upper else self.mean - margin


def correct_mean(
    labels: ArrayLike, judged: ArrayLike, others: ArrayLike, *, two_valued: bool | None = None, confidence: float = 0.95
) -> CorrectedMean:
    """Return the mean of people's labels over all items, from the labels of some and a judge's scores of all.

    ``judged`` has the judge's score of each labelled item, and ``others`` its scores of the items without a label. The
    labelled items have to be drawn at random. Labels are ``two_valued`` if all of them are 0 or 1, unless that is said.
    If every item is labelled, it is the mean of the labels. If labels and scores are from 0 to 1, so are mean and
    interval. For two runs there is :func:`correct_difference`.

    >>> result = correct_mean([1, 0] * 20, [0.9, 0.3] * 20, [0.9] * 80 + [0.3] * 120)
    >>> round(result.mean, 3), round(result.weight, 2)
    (0.445, 1.0)
    """
    y, f, rest = (np.asarray(values, dtype=np.float64) for values in (labels, judged, others))
    result = _estimate(y, f, rest, two_valued, confidence)
    if not len(y) or not all(((values >= 0) & (values <= 1)).all() for values in (y, f, rest)):
        return result
    mean, low, high = (min(max(value, 0.0), 1.0) for value in (result.mean, result.low, result.high))
    return replace(result, mean=mean, low=low, high=high)


def _estimate(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    rest: NDArray[np.float64],
    two_valued: bool | None,
    confidence: float,
) -> CorrectedMean:
    _check(y, f, rest)
    if two_valued is None:
        two_valued = bool(np.isin(y, (0.0, 1.0)).all())
    judge_mean = float(np.concatenate([f, rest]).mean()) if len(f) + len(rest) else math.nan
    counts: dict[str, Any] = {"labels": len(y), "judged": len(rest), "judge_mean": judge_mean}
    reason = _refuse_judge(y, rest)
    if not len(y):
        return CorrectedMean(mean=math.nan, low=-math.inf, high=math.inf, weight=0.0, reason=reason, **counts)
    own = float(y.mean())
    if two_valued or np.ptp(y) == 0:  # equal labels would make an interval without width
        y, f = np.append(y, _PAIRS[:, 0]), np.append(f, _PAIRS[:, 1])
    if len(y) < 2:
        return CorrectedMean(mean=float(y[0]), low=-math.inf, high=math.inf, weight=0.0, reason=reason, **counts)
    weight = 0.0 if reason else _weigh(y, f, rest)
    # What is added widens the interval; where nothing is left to estimate, it has no part in the mean.
    mean = float(y.mean() + (weight * (rest.mean() - f.mean()) if weight else 0.0)) if len(rest) else own
    variance = float(np.var(y - weight * f, ddof=1)) / len(y)
    if weight:
        variance += weight**2 * float(np.var(rest, ddof=1)) / len(rest)
    error = math.sqrt(variance)
    margin = critical(len(y) - 1, (1 - confidence) / 2) * error
    return CorrectedMean(
        mean=mean, low=mean - margin, high=mean + margin, weight=weight, reason=reason, error=error, **counts
    )


Runs = tuple[ArrayLike, ArrayLike]
"""A number for each item in the baseline, and in the run."""


def correct_difference(labels: Runs, judged: Runs, others: Runs, *, confidence: float = 0.95) -> CorrectedMean:
    """Return how much more people would say of a run than of its baseline, over all items.

    The arguments are those of :func:`correct_mean`, each of the baseline and of the run. If labels are 0 and 1, few of
    their differences are not 0, and a sample may by chance have too few: then two pairs are added on which people and
    judge see the opposite change. If every item is labelled, the mean is that of the labels' differences.

    >>> same = [1.0, 0.0] * 20
    >>> result = correct_difference((same, same), (same, same), (same * 3, same * 3))
    >>> result.mean, result.p_below > 0.4
    (0.0, True)
    """
    two_valued = all(bool(np.isin(np.asarray(values, np.float64), (0.0, 1.0)).all()) for values in labels)
    y, f, rest = (np.subtract(np.asarray(now, np.float64), np.asarray(then, np.float64)) for then, now in
                  (labels, judged, others))  # fmt: skip
    count, plain, own = len(y), y, float(np.concatenate([f, rest]).mean()) if len(f) + len(rest) else math.nan
    if count >= LEAST_LABELS and (two_valued or np.ptp(y) == 0):
        y, f = np.append(y, [1.0, -1.0]), np.append(f, [-1.0, 1.0])
    result = _estimate(y, f, rest, False, confidence)  # noqa: FBT003
    shift = float(plain.mean()) - result.mean if count and not len(rest) else 0.0
    return replace(
        result, mean=result.mean + shift, low=result.low + shift, high=result.high + shift, labels=count, judge_mean=own
    )


def _check(y: NDArray[np.float64], f: NDArray[np.float64], rest: NDArray[np.float64]) -> None:
    if y.ndim != 1 or y.shape != f.shape or rest.ndim != 1:
        raise ValueError(f"{y.shape} labels and {f.shape} scores of the judge; every labelled item has one of each")
    if not all(np.isfinite(values).all() for values in (y, f, rest)):
        raise ValueError("a label or a score is not a number; leave out what was not measured, and count it")


def _refuse_judge(y: NDArray[np.float64], rest: NDArray[np.float64]) -> str:
    """Return why only the labels count; empty if the judge counts, too."""
    if len(y) < LEAST_LABELS:
        return f"{len(y)} labels; the judge counts from {LEAST_LABELS} on"
    return "every item is labelled" if len(rest) < 2 else ""


def _weigh(y: NDArray[np.float64], f: NDArray[np.float64], rest: NDArray[np.float64]) -> float:
    """Return the weight of the judge with which the variance is smallest, from 0 to 1."""
    spread = float(np.var(np.concatenate([f, rest]), ddof=1))
    if spread == 0:
        return 0.0
    together = float(np.cov(y, f)[0, 1])
    return min(max(together / ((1 + len(y) / len(rest)) * spread), 0.0), 1.0)


def estimate_mean(values: ArrayLike, *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the mean of values with the ends of its t interval, which are infinite below two values.

    >>> [round(end, 3) for end in estimate_mean([0.1, 0.2, 0.3])]
    [0.2, -0.048, 0.448]
    """
    own = np.asarray(values, np.float64)
    if len(own) < 2:
        return (float(own.mean()) if len(own) else math.nan), -math.inf, math.inf
    mean = float(own.mean())
    margin = critical(len(own) - 1, (1 - confidence) / 2) * float(own.std(ddof=1)) / math.sqrt(len(own))
    return mean, mean - margin, mean + margin
