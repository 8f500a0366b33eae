"""The rules of the gate: pass, fail or inconclusive, from the scores of two runs.

``decide`` is the rule of the policy ``default``. A measure fails when its drop is both significant and larger than
tolerated, and passes when such a drop is ruled out; everything between is inconclusive. ``threshold`` is the simple
rule that fails when the mean fell by more than 5 %. With few queries it fails on noise alone: tests/calibration has the
error rates of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from karat.core import UsageError
from karat.stats._multiple import holm
from karat.stats._paired import bounds
from karat.stats._permutation import permutation
from karat.stats._power import LEAST_ALPHA, sample_size
from karat.stats._sample import TIE, Floats, check_resamples, pairs, sample
from karat.stats._student import above


class Outcome(StrEnum):
    """The decision on one measure."""

    PASS = "pass"  # noqa: S105 (not a password)
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    """There is no decision: the run failed. No test has this outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """The tolerated drop, and the level at which a larger one is tested."""

    relative: float = 0.05
    """The tolerated drop as a share of the baseline's mean."""
    absolute: float = 0.01
    """The least margin, whatever the baseline's mean."""
    alpha: float = 0.05
    """The level of the test for a drop, and of the bound that rules one out."""
    resamples: int = 9_999

    def __post_init__(self) -> None:
        for name, value in (("relative", self.relative), ("absolute", self.absolute)):
            if not 0 <= value < math.inf:
                raise UsageError(f"{name} tolerance {value} should be a finite number, 0 or above")
        if not LEAST_ALPHA <= self.alpha < 0.5:
            raise UsageError(f"alpha {self.alpha} should lie between {LEAST_ALPHA:g} and 0.5")
        check_resamples(self.resamples)

    def margin(self, baseline: float) -> float:
        """Return the tolerated drop from a mean.

        >>> DropRule().margin(0.8), DropRule().margin(0.1)
        (0.04000000000000001, 0.01)
        """
        return max(self.relative * abs(baseline), self.absolute)

    @property
    def least_changed(self) -> int:
        """The least number of changed queries with which a test can reach the level: 5 for 0.05."""
        return math.ceil(-math.log2(self.alpha))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The comparison of two runs on one measure; a drop is negative, also where lower is better."""

    n: int
    clusters: int | None
    changed: int
    """The number of queries, or clusters, whose score changed."""
    baseline: float
    candidate: float
    difference: float
    margin: float
    p: float
    """The p-value of the one-sided sign-flip test for a drop."""
    low: float | None
    """The lower bound of the mean difference; None for a single query or cluster, which has no spread."""
    sd: float | None
    """The standard deviation of the differences; with clusters, that of independent queries with the same error."""
    rule: DropRule

    @property
    def dropped(self) -> bool:
        """Whether the mean fell by more than the margin."""
        return self.difference < -self.margin - TIE

    @property
    def ruled_out(self) -> bool:
        """Whether a drop by more than the margin is ruled out."""
        return self.changed == 0 or (self.low is not None and self.low > -self.margin)

    @property
    def p_worse(self) -> float:
        """The p-value of the t-test that rules out a drop by more than the margin.

        It is below alpha where the lower bound is above the margin.

        >>> weighed = evidence([1, 1, 0.5, 1, 1, 1], [1, 1, 0.5, 0.5, 1, 1], rng=np.random.default_rng(1))
        >>> round(weighed.p_worse, 3), weighed.ruled_out
        (0.664, False)
        """
        if self.changed == 0:
            return 0.0
        if self.sd is None:
            return 1.0
        distance = self.difference + self.margin
        if not self.sd:
            return 0.0 if distance > 0 else 1.0
        return above(distance / (self.sd / math.sqrt(self.n)), (self.clusters or self.n) - 1)

    @property
    def testable(self) -> bool:
        """Whether enough queries changed for a test to reach the level."""
        return self.changed >= self.rule.least_changed

    @property
    def needed(self) -> int | None:
        """The number of queries with this spread that rule out the drop in 80 % of the cases, if there is none.

        It is about 6.18 sd^2 / margin^2 for alpha = 0.05. None without a spread or a margin, or where no realistic
        number of queries is enough.
        """
        if not self.sd or self.sd > 100_000 * self.margin:
            return None
        return sample_size(self.margin, self.sd, alpha=self.rule.alpha, sides=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one measure, with its reason."""

    outcome: Outcome
    reason: str
    adjusted: float | None = None
    """The p-value after Holm's correction over all measures of the gate."""
    evidence: Evidence | None = None
    """None where nothing was measured."""


def evidence(
    baseline: ArrayLike,
    candidate: ArrayLike,
    *,
    rng: np.random.Generator,
    rule: DropRule | None = None,
    lower_is_better: bool = False,
    clusters: Iterable[object] | None = None,
) -> Evidence:
    """Compare the scores of two runs on the same queries, in the same order.

    Include failed queries with their score of 0. Scores that differ by less than 1e-9 count as equal.

    >>> rng = np.random.default_rng(1)
    >>> weighed = evidence([1, 1, 0.5, 1, 1, 1], [0.5, 0, 0.5, 0, 0.5, 0], rng=rng)
    >>> weighed.p == 1 / 32, round(weighed.difference, 2), weighed.dropped, weighed.ruled_out
    (True, -0.67, True, False)
    """
    rule = rule or DropRule()
    before, after = pairs(baseline, candidate)
    difference = after - before if not lower_is_better else before - after
    settled: Floats = np.where(np.abs(difference) <= TIE, 0.0, difference)
    labels = None if clusters is None else list(clusters)
    differences = sample(settled, labels)
    tested = permutation(settled, rng=rng, resamples=rule.resamples, alternative="less", clusters=labels)
    was = float(before.sum()) / len(before)
    return Evidence(
        n=differences.n,
        clusters=differences.clusters,
        changed=tested.changed,
        baseline=was,
        candidate=float(after.sum()) / len(after),
        difference=differences.mean,
        margin=rule.margin(was),
        p=tested.p,
        low=bounds(differences, rule.alpha)[0],
        sd=differences.sd,
        rule=rule,
    )


def verdicts(measures: Sequence[Evidence]) -> tuple[Verdict, ...]:
    """Decide on the measures of one gate together, with Holm's correction for their number."""
    adjusted = holm([measure.p for measure in measures]).tolist()
    return tuple(_verdict(measure, p) for measure, p in zip(measures, adjusted, strict=True))


def decide(
    scores: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    rng: np.random.Generator,
    rule: DropRule | None = None,
    clusters: Iterable[object] | None = None,
) -> tuple[Verdict, ...]:
    """Decide by the policy ``default``; ``scores`` has the baseline's and the candidate's scores of each measure.

    A measure without any score fails. Where measures have different queries, clusters or directions, pass the
    ``evidence`` of each to ``verdicts``.

    >>> before, after = [1, 1, 0.5, 1, 1, 1, 0], [0.5, 0, 0.5, 0, 0.5, 0, 0]
    >>> [verdict.outcome.value for verdict in decide([(before, after), (before, before)], rng=np.random.default_rng(1))]
    ['inconclusive', 'pass']
    >>> decide([(before, after)], rng=np.random.default_rng(1))[0].reason
    'dropped by 0.571, more than 0.0393 (one-sided p = 0.0312)'
    """
    labels = None if clusters is None else list(clusters)
    measures = [
        evidence(before, after, rng=rng, rule=rule, clusters=labels) if np.size(before) or np.size(after) else None
        for before, after in scores
    ]
    decided = iter(verdicts([measure for measure in measures if measure]))
    nothing = Verdict(outcome=Outcome.FAIL, reason="nothing was measured: no query has a score in both runs")
    return tuple(next(decided) if measure else nothing for measure in measures)


def _verdict(measure: Evidence, adjusted: float) -> Verdict:
    outcome, reason = _judge(measure, adjusted)
    return Verdict(outcome=outcome, reason=reason, adjusted=adjusted, evidence=measure)


def _judge(measure: Evidence, adjusted: float) -> tuple[Outcome, str]:
    margin, p = f"{measure.margin:.3g}", f"one-sided p = {adjusted:.3g}"
    if measure.changed == 0:
        many = f"{measure.n} queries" if measure.clusters is None else f"{measure.clusters} clusters"
        return Outcome.PASS, f"none of {many} changed"
    if measure.dropped and adjusted <= measure.rule.alpha:
        return Outcome.FAIL, f"dropped by {-measure.difference:.3g}, more than {margin} ({p})"
    if measure.ruled_out:
        return Outcome.PASS, f"a drop by more than {margin} is ruled out: it is at most {_largest_drop(measure)}"
    if not measure.testable:
        least, alpha = measure.rule.least_changed, measure.rule.alpha
        few = f"{measure.changed} changed, and fewer than {least} cannot reach {alpha:g}"
        return Outcome.INCONCLUSIVE, f"too few changed to tell: {few}"
    moved = f"{'rose' if measure.difference > 0 else 'dropped'} by {abs(measure.difference):.3g}"
    moved = moved if abs(measure.difference) > TIE else "did not move"
    return Outcome.INCONCLUSIVE, f"the mean {moved}; a drop by more than {margin} is neither shown ({p}) nor ruled out"


def _largest_drop(measure: Evidence) -> str:
    assert measure.low is not None
    return f"{max(-measure.low, 0.0):.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """The decision of the simple rule on one measure."""

    outcome: Outcome
    reason: str
    n: int
    baseline: float | None = None
    candidate: float | None = None
    margin: float | None = None


def threshold(
    baseline: ArrayLike, candidate: ArrayLike, *, relative: float = 0.05, lower_is_better: bool = False
) -> Threshold:
    """Decide by the policy ``threshold``: fail if the mean fell by more than a share of the baseline's.

    The outcome is never inconclusive. A mean of 0 cannot fall, so it always passes.

    >>> threshold([1, 1, 0.5, 1], [1, 0.5, 0.5, 1]).outcome.value
    'fail'
    """
    if not 0 <= relative < math.inf:
        raise UsageError(f"relative tolerance {relative} should be a finite number, 0 or above")
    before, after = pairs(baseline, candidate)
    if not len(before):
        return Threshold(outcome=Outcome.FAIL, reason="nothing was measured: no query has a score in both runs", n=0)
    was, now = float(before.sum()) / len(before), float(after.sum()) / len(after)
    drop, margin = (now - was if lower_is_better else was - now), relative * abs(was)
    failed = drop > margin + TIE
    reason = (
        f"{'dropped' if drop >= 0 else 'rose'} by {abs(drop):.3g}, {'more' if failed else 'no more'} than {margin:.3g}"
    )
    outcome = Outcome.FAIL if failed else Outcome.PASS
    return Threshold(outcome=outcome, reason=reason, n=len(before), baseline=was, candidate=now, margin=margin)
