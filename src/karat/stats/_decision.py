"""The rules of the gate: from the scores of two runs to pass, fail or inconclusive.

``decide`` is the rule of the policy ``default``. A drop fails when it is both significant and larger than what is
tolerated; a run passes when such a drop is ruled out; everything between is inconclusive. ``threshold`` is the plain
rule, a mean that fell by more than 5 %, which with few queries fires at nothing: tests/calibration has both rates.
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
    """What the gate says of one measure."""

    PASS = "pass"  # noqa: S105, which takes it for a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRule:
    """What drop is tolerated, and how sure the gate has to be of a larger one."""

    relative: float = 0.05
    """Share of the baseline's mean."""
    absolute: float = 0.01
    """The margin is never smaller than this."""
    alpha: float = 0.05
    """Level of the test for a drop, and of the bound that rules one out."""
    resamples: int = 9_999

    def __post_init__(self) -> None:
        for name, value in (("relative", self.relative), ("absolute", self.absolute)):
            if not 0 <= value < math.inf:
                raise UsageError(f"{name} tolerance {value} should be a finite number, 0 or above")
        if not LEAST_ALPHA <= self.alpha < 0.5:
            raise UsageError(f"alpha {self.alpha} should lie between {LEAST_ALPHA:g} and 0.5")
        check_resamples(self.resamples)

    def margin(self, baseline: float) -> float:
        """Give the tolerated drop from a mean.

        >>> DropRule().margin(0.8), DropRule().margin(0.1)
        (0.04000000000000001, 0.01)
        """
        return max(self.relative * abs(baseline), self.absolute)

    @property
    def least_changed(self) -> int:
        """How many queries have to change before any test can reach the level: 5 for 0.05."""
        return math.ceil(-math.log2(self.alpha))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What two runs say about one measure; a drop is negative, whichever way the measure points."""

    n: int
    clusters: int | None
    changed: int
    """How many queries, or clusters, have another score than before."""
    baseline: float
    candidate: float
    difference: float
    margin: float
    p: float
    """Of the one-sided sign-flip test for a drop."""
    low: float | None
    """Lower bound of the mean difference; None for a single query or cluster, which has no spread."""
    sd: float | None
    """Standard deviation of the differences; with clusters, the one that independent queries would need."""
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
        """Of the t-test that rules a drop by more than the margin out: below alpha where the bound is above it.

        >>> found = evidence([1, 1, 0.5, 1, 1, 1], [1, 1, 0.5, 0.5, 1, 1], rng=np.random.default_rng(1))
        >>> round(found.p_worse, 3), found.ruled_out
        (0.664, False)
        """
        if self.changed == 0:
            return 0.0
        if self.sd is None:
            return 1.0
        above_it = self.difference + self.margin
        if not self.sd:
            return 0.0 if above_it > 0 else 1.0
        return above(above_it / (self.sd / math.sqrt(self.n)), (self.clusters or self.n) - 1)

    @property
    def testable(self) -> bool:
        """Whether enough queries changed for any test to reach the level."""
        return self.changed >= self.rule.least_changed

    @property
    def needed(self) -> int | None:
        """How many queries with this spread rule the drop out in 80 % of the cases, if there is none.

        About 6.18 sd^2 / margin^2 for alpha = 0.05. None without a spread or a margin, and beyond any number of queries
        that could be asked.
        """
        if not self.sd or self.sd > 100_000 * self.margin:
            return None
        return sample_size(self.margin, self.sd, alpha=self.rule.alpha, sides=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate says of one measure, with its reason."""

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
    """Weigh the scores of two runs on the same queries, in the same order.

    A query that failed belongs in with its score of 0. Scores that differ by less than 1e-9 are the same score.

    >>> rng = np.random.default_rng(1)
    >>> found = evidence([1, 1, 0.5, 1, 1, 1], [0.5, 0, 0.5, 0, 0.5, 0], rng=rng)
    >>> found.p == 1 / 32, round(found.difference, 2), found.dropped, found.ruled_out
    (True, -0.67, True, False)
    """
    rule = rule or DropRule()
    before, after = pairs(baseline, candidate)
    difference = after - before if not lower_is_better else before - after
    settled: Floats = np.where(np.abs(difference) <= TIE, 0.0, difference)
    labels = None if clusters is None else list(clusters)
    found = sample(settled, labels)
    tested = permutation(settled, rng=rng, resamples=rule.resamples, alternative="less", clusters=labels)
    was = float(before.sum()) / len(before)
    return Evidence(
        n=found.n,
        clusters=found.clusters,
        changed=tested.changed,
        baseline=was,
        candidate=float(after.sum()) / len(after),
        difference=found.mean,
        margin=rule.margin(was),
        p=tested.p,
        low=bounds(found, rule.alpha)[0],
        sd=found.sd,
        rule=rule,
    )


def verdicts(found: Sequence[Evidence]) -> tuple[Verdict, ...]:
    """Decide on the measures of one gate together: the more of them, the surer each has to be."""
    adjusted = holm([one.p for one in found]).tolist()
    return tuple(_verdict(one, p) for one, p in zip(found, adjusted, strict=True))


def decide(
    scores: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    rng: np.random.Generator,
    rule: DropRule | None = None,
    clusters: Iterable[object] | None = None,
) -> tuple[Verdict, ...]:
    """Decide by the policy ``default``: for each gated measure the scores of the baseline and those of the candidate.

    A measure without any score fails, because nothing measured must not pass. Where measures have different queries,
    clusters or directions, give each one's ``evidence`` to ``verdicts``.

    >>> before, after = [1, 1, 0.5, 1, 1, 1, 0], [0.5, 0, 0.5, 0, 0.5, 0, 0]
    >>> [one.outcome.value for one in decide([(before, after), (before, before)], rng=np.random.default_rng(1))]
    ['inconclusive', 'pass']
    >>> decide([(before, after)], rng=np.random.default_rng(1))[0].reason
    'dropped by 0.571, more than 0.0393 (one-sided p = 0.0312)'
    """
    labels = None if clusters is None else list(clusters)
    found = [
        evidence(before, after, rng=rng, rule=rule, clusters=labels) if np.size(before) or np.size(after) else None
        for before, after in scores
    ]
    decided = iter(verdicts([one for one in found if one]))
    nothing = Verdict(outcome=Outcome.FAIL, reason="nothing was measured: no query has a score in both runs")
    return tuple(next(decided) if one else nothing for one in found)


def _verdict(found: Evidence, adjusted: float) -> Verdict:
    outcome, reason = _judge(found, adjusted)
    return Verdict(outcome=outcome, reason=reason, adjusted=adjusted, evidence=found)


def _judge(found: Evidence, adjusted: float) -> tuple[Outcome, str]:
    margin, p = f"{found.margin:.3g}", f"one-sided p = {adjusted:.3g}"
    if found.changed == 0:
        many = f"{found.n} queries" if found.clusters is None else f"{found.clusters} clusters"
        return Outcome.PASS, f"none of {many} changed"
    if found.dropped and adjusted <= found.rule.alpha:
        return Outcome.FAIL, f"dropped by {-found.difference:.3g}, more than {margin} ({p})"
    if found.ruled_out:
        return Outcome.PASS, f"a drop by more than {margin} is ruled out: it is at most {_most(found)}"
    if not found.testable:
        many = f"{found.changed} changed, and fewer than {found.rule.least_changed} cannot reach {found.rule.alpha:g}"
        return Outcome.INCONCLUSIVE, f"too few changed to tell: {many}"
    moved = f"{'rose' if found.difference > 0 else 'dropped'} by {abs(found.difference):.3g}"
    moved = moved if abs(found.difference) > TIE else "did not move"
    return Outcome.INCONCLUSIVE, f"the mean {moved}; a drop by more than {margin} is neither shown ({p}) nor ruled out"


def _most(found: Evidence) -> str:
    assert found.low is not None
    return f"{max(-found.low, 0.0):.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """What the plain rule says of one measure."""

    outcome: Outcome
    reason: str
    n: int
    baseline: float | None = None
    candidate: float | None = None
    margin: float | None = None


def threshold(
    baseline: ArrayLike, candidate: ArrayLike, *, relative: float = 0.05, lower_is_better: bool = False
) -> Threshold:
    """Decide by the policy ``threshold``: fail when the mean fell by more than a share of the baseline's.

    It never says inconclusive. From a mean of 0 nothing can fall.

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
