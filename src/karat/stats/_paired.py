"""The paired t-test, and non-inferiority: whether the mean difference is 0, and whether it is tolerable."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from numpy.typing import ArrayLike

from karat.core import UsageError
from karat.stats._sample import ROUNDING, Alternative, Sample, check_alternative, check_share, sample
from karat.stats._student import above, critical


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedT:
    """The result of a paired t-test; a one-sided test has None for the other end of the interval."""

    estimate: float
    error: float
    """The standard error of the mean."""
    t: float | None
    """None where all differences are equal, so that there is no spread."""
    df: int
    p: float
    low: float | None
    high: float | None
    level: float
    alternative: Alternative
    n: int
    clusters: int | None = None


def paired_t(
    differences: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    clusters: Iterable[object] | None = None,
) -> PairedT:
    """Test whether the mean of paired differences is 0, with the interval of the mean.

    Differences with the same label in ``clusters`` may depend on each other: the standard error is then that of the
    clusters, and there is one degree of freedom fewer than there are clusters. Differences that are all equal have
    p = 1 if they are 0, and p = 0 otherwise.

    >>> test = paired_t([0.5, 0, 0, -0.25, 0.5, 0, 0.5, 0])
    >>> round(test.t, 3), round(test.p, 3), round(test.low, 3), round(test.high, 3)
    (1.488, 0.18, -0.092, 0.404)
    """
    check_alternative(alternative)
    check_share("level", level)
    pairs = sample(differences, clusters, least=2)
    error, df = pairs.error, pairs.units - 1
    assert error is not None
    low, high = _interval(pairs.mean, error, df, level, alternative)
    return PairedT(
        estimate=pairs.mean,
        error=error,
        t=pairs.mean / error if error else None,
        df=df,
        p=_p(pairs, error, df, alternative),
        low=low,
        high=high,
        level=level,
        alternative=alternative,
        n=pairs.n,
        clusters=pairs.clusters,
    )


def _p(pairs: Sample, error: float, df: int, alternative: Alternative) -> float:
    if error:
        t = pairs.mean / error
        if alternative == "two-sided":
            return 2 * above(abs(t), df)
        return above(t if alternative == "greater" else -t, df)
    if abs(pairs.mean) <= ROUNDING * pairs.scale:
        return 1.0
    return 0.0 if alternative == "two-sided" or (pairs.mean > 0) == (alternative == "greater") else 1.0


def _interval(
    mean: float, error: float, df: int, level: float, alternative: Alternative
) -> tuple[float | None, float | None]:
    tail = (1 - level) / 2 if alternative == "two-sided" else 1 - level
    reach = _quantile(df, tail) * error
    return mean - reach if alternative != "less" else None, mean + reach if alternative != "greater" else None


def _quantile(df: int, tail: float) -> float:
    """Return the critical value, also for tails above one half, which intervals at a low level have."""
    if tail < 0.5:
        return critical(df, tail)
    return -critical(df, 1 - tail) if tail > 0.5 else 0.0


class Claim(StrEnum):
    """The state of the claim that the mean did not drop by more than the margin."""

    SHOWN = "shown"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class NonInferiority:
    """The mean difference compared with the margin; each bound has confidence 1 - alpha."""

    outcome: Claim
    estimate: float
    low: float | None
    """The lower bound of the mean; None for a single difference or cluster, which has no spread."""
    high: float | None
    margin: float
    alpha: float
    n: int
    clusters: int | None = None


def non_inferior(
    differences: ArrayLike, margin: float, *, alpha: float = 0.05, clusters: Iterable[object] | None = None
) -> NonInferiority:
    """Test whether the mean of paired differences is above -margin, by one-sided t intervals.

    The claim is shown if the lower bound is above -margin, and refuted if the upper bound is below it. Where nothing
    changed it is shown, whatever the margin and however few the pairs.

    >>> non_inferior([0, 0.1, -0.1, 0, 0, 0.1, -0.1, 0], 0.1).outcome.value
    'shown'
    >>> non_inferior([0, 0.5, -0.5, 0, 0, 0.5, -0.5, 0], 0.1).outcome.value
    'inconclusive'
    """
    if not 0 <= margin < math.inf:
        raise UsageError(f"margin {margin} should be a finite number, 0 or above")
    check_share("alpha", alpha)
    pairs = sample(differences, clusters)
    low, high = bounds(pairs, alpha)
    return NonInferiority(
        outcome=_outcome(pairs, low, high, margin),
        estimate=pairs.mean,
        low=low,
        high=high,
        margin=margin,
        alpha=alpha,
        n=pairs.n,
        clusters=pairs.clusters,
    )


def bounds(pairs: Sample, alpha: float) -> tuple[float | None, float | None]:
    """Return the one-sided lower and upper bounds of the mean."""
    if pairs.error is None:
        return None, None
    reach = _quantile(pairs.units - 1, alpha) * pairs.error if pairs.error else 0.0
    return pairs.mean - reach, pairs.mean + reach


def _outcome(pairs: Sample, low: float | None, high: float | None, margin: float) -> Claim:
    if not pairs.values.any() or (low is not None and low > -margin):
        return Claim.SHOWN
    return Claim.REFUTED if high is not None and high < -margin else Claim.INCONCLUSIVE
