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
from karat.stats._evidence import DropRule, Evidence, PairedScores, weigh
from karat.stats._sample import TIE, Floats, pairs, sample
from karat.stats._step_down import sum_clusters, westfall_young


class Outcome(StrEnum):
    """The decision on one measure."""

    PASS = "pass"  # noqa: S105 (not a password)
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    """There is no decision: the run failed. No test has this outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision on one measure, with its reason."""

    outcome: Outcome
    reason: str
    adjusted: float | None = None
    """The p-value for a drop, corrected for all measures of the gate; not corrected if a query of any was lost."""
    reachable: float | None = None
    """The adjusted p-value if every change had been a loss: no smaller one is possible with as many changes."""
    evidence: Evidence | None = None
    """None where nothing was measured."""

    @property
    def testable(self) -> bool:
        """Whether the queries that changed could have shown a drop at the level, after the correction."""
        return self.evidence is not None and self.reachable is not None and self.reachable <= self.evidence.rule.alpha


def decide(
    scores: Sequence[PairedScores | tuple[ArrayLike, ArrayLike]],
    *,
    rng: np.random.Generator,
    rule: DropRule | None = None,
    clusters: Iterable[object] | None = None,
) -> tuple[Verdict, ...]:
    """Decide by the policy ``default`` on the measures of a gate, which are tested together on the same queries.

    ``scores`` has the baseline's and the candidate's scores of each measure, over the same queries; NaN in both runs
    marks a query that a measure is not defined for. The p-values are corrected by :func:`westfall_young`. A measure
    without any score fails.

    No lost query makes a decision better. A drop is ruled out only if it is whatever the lost queries would have
    scored. It is shown by the p-value of the measure by itself: that can only fall if a difference does, while the
    corrected one also depends on the other measures, and could rise.

    >>> before, after = [1, 1, 0.5, 1, 1, 1, 0], [0.5, 0, 0.5, 0, 0.5, 0, 0]
    >>> [verdict.outcome.value for verdict in decide([(before, after), (before, before)], rng=np.random.default_rng(1))]
    ['fail', 'pass']
    >>> decide([(before, after)], rng=np.random.default_rng(1))[0].reason
    'dropped by 0.571, more than 0.0393 (one-sided p = 0.0312)'
    """
    rule = rule or DropRule()
    measures = [pair if isinstance(pair, PairedScores) else PairedScores(*pair) for pair in scores]
    rows = [measure.differences() for measure in measures]
    scored = [i for i, row in enumerate(rows) if not np.isnan(row).all()]
    labels = None if clusters is None else list(clusters)
    if labels is not None and any(measure.lost_now().any() for measure in measures):
        raise UsageError("lost queries cannot be combined with clusters: average the queries of each cluster first")
    verdicts = [_NOTHING for _ in measures]
    if scored:
        table = _stack([rows[i] for i in scored])
        tests = westfall_young(table, rng=rng, resamples=rule.flips, alternative="less", clusters=labels)
        lost = any(measures[i].lost_now().any() for i in scored)
        p_values = tests.p if lost else tests.adjusted
        weighed = []
        for i, p in zip(scored, tests.p.tolist(), strict=True):
            present = ~np.isnan(rows[i])
            own_labels = None if labels is None else [labels[place] for place in np.flatnonzero(present)]
            differences = sample(rows[i][present], own_labels)
            weighed.append(weigh(measures[i], differences, p, rule))
        reachable = _reach(table, weighed, p_values, rng, labels)
        for i, measure, adjusted, least in zip(scored, weighed, p_values.tolist(), reachable, strict=True):
            verdicts[i] = _verdict(measure, adjusted, least, corrected=not lost or len(scored) == 1)
    return tuple(verdicts)


_NOTHING = Verdict(outcome=Outcome.FAIL, reason="nothing was measured: no query has a score in both runs")


def _stack(rows: Sequence[Floats]) -> Floats:
    if len({len(row) for row in rows}) > 1:
        raise UsageError(
            "the measures have different numbers of queries: put NaN where a measure is not defined for a query"
        )
    return np.stack(rows)


def _reach(
    table: Floats,
    measures: Sequence[Evidence],
    p_values: Floats,
    rng: np.random.Generator,
    labels: Sequence[object] | None,
) -> list[float]:
    """Return the adjusted p-value of each measure if every query, or cluster, that changed had lost.

    Where the data reach the level, or nothing changed, this is not computed: it is the p-value that was found.
    """
    alpha, flips = measures[0].rule.alpha, measures[0].rule.flips
    observed: list[float] = p_values.tolist()
    if all(p <= alpha or not measure.changed for p, measure in zip(observed, measures, strict=True)):
        return observed
    lost = -np.abs(table if labels is None else sum_clusters(table, labels))
    best = westfall_young(lost, rng=rng, resamples=flips, alternative="less").adjusted
    return np.minimum(best, p_values).tolist()  # type: ignore[no-any-return]


def _verdict(measure: Evidence, adjusted: float, reachable: float, *, corrected: bool) -> Verdict:
    outcome, reason = _conclude(measure, adjusted, reachable, "" if corrected else ", not corrected: answers were lost")
    return Verdict(outcome=outcome, reason=reason, adjusted=adjusted, reachable=reachable, evidence=measure)


def _conclude(measure: Evidence, adjusted: float, reachable: float, note: str) -> tuple[Outcome, str]:
    margin, p = f"{measure.margin:.3g}", f"one-sided p = {adjusted:.3g}{note}"
    many = f"{measure.n} queries" if measure.clusters is None else f"{measure.clusters} clusters"
    if measure.changed == 0 and not measure.lost:
        return Outcome.PASS, f"none of {many} changed"
    if measure.dropped and adjusted <= measure.rule.alpha:
        return Outcome.FAIL, f"{_name_move(measure)} by {-measure.difference:.3g}, more than {margin} ({p})"
    if measure.ruled_out:
        largest = max(-(measure.low or 0.0), 0.0)
        return (
            Outcome.PASS,
            f"a {measure.loss} by more than {margin} is ruled out{_whatever(measure)}: it is at most {largest:.3g}",
        )
    if reachable > measure.rule.alpha:
        least = f"p cannot be below {reachable:.2g}, and {measure.rule.alpha:g} is needed"
        return (
            Outcome.INCONCLUSIVE,
            f"{_describe_drop(measure)}; too few changed to test: {measure.changed} of {many}, so {least}",
        )
    # The p-value is that of any drop: beside a drop that is shown, it must not read as that of one beyond the margin.
    shown = (
        f"that it got worse is shown ({p})" if adjusted <= measure.rule.alpha else f"no {measure.loss} is shown ({p})"
    )
    return (
        Outcome.INCONCLUSIVE,
        f"{_describe_drop(measure)}; {shown}, and a {measure.loss} by more than {margin} is not ruled out",
    )


def _name_move(measure: Evidence) -> str:
    """Return where the mean went: a difference below 0 is worse, and up where lower is better."""
    return "rose" if measure.candidate > measure.baseline else "dropped"


def _describe_drop(measure: Evidence) -> str:
    """Return how the mean moved, and how large the true drop, or rise where lower is better, could be."""
    moved = f"{_name_move(measure)} by {abs(measure.difference):.3g}"
    moved = moved if abs(measure.difference) > TIE else "did not move"
    if measure.low is None and measure.units > 1:
        return f"the mean {moved}, and nobody knows what the {_count_lost(measure)} would have scored"
    if measure.low is None:
        return f"the mean {moved}, and one query or cluster does not show how large the {measure.loss} is"
    return f"the mean {moved}, and the {measure.loss} could be as large as {-measure.low:.3g}{_whatever(measure)}"


def _whatever(measure: Evidence) -> str:
    return f", whatever the {_count_lost(measure)} would have scored" if measure.lost else ""


def _count_lost(measure: Evidence) -> str:
    return f"{measure.lost:,} lost {'query' if measure.lost == 1 else 'queries'}"


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
