"""Where the uncertainty of a decision on a judge's scores comes from, and what would decide.

The variance of a query's change has three parts: queries differ, a system answers otherwise when it is asked again, and
a judge contradicts itself. Votes say how large the last is, repeats how large the second; what is left is the queries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from karat.core import Scores
from karat.evaluation import Evaluation, Segment
from karat.gate._check import Check
from karat.gate._corrected import find_correction
from karat.gate._decision import Decision
from karat.gate._limits import select_queries
from karat.gate._pairing import pair_scores
from karat.gate._policy import Rule
from karat.measures import name_judge
from karat.stats import CorrectedMean, Outcome

_TESTS = ("significant_drop", "non_inferior")
_SIDES = 2.486
"""The sum of the normal quantiles of 95 % and 80 %: so many standard errors an effect is from what it is tested for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """The parts of the variance of a measure's change, and what would decide."""

    metric: str
    judge: str
    where: Segment | None
    queries: float
    """The share of the variance that is the choice of queries."""
    answers: float | None
    """The share of answering otherwise; None if nothing was asked twice."""
    votes: float | None
    """The share of the judge's contradictions; None with one vote."""
    asked: int
    """How many votes each answer has."""
    n: int
    """How many queries are compared."""
    labels: int = 0
    """How many labels correct the change."""
    needed_queries: int | None = None
    """How many queries would decide; None if the check has decided, or nobody knows."""
    needed_votes: int | None = None
    """How many votes for each answer would; None if they alone would not."""
    needed_labels: int | None = None
    """How many labels would; None if nothing is corrected, or there are not so many answers."""


def find_uncertainty(decision: Decision) -> Iterator[Uncertainty]:
    """Yield the uncertainty of each test on a judge's scores."""
    rules = {rule.name: rule for rule in decision.policy.rules}
    for check in decision.checks:
        rule = rules.get(check.name)
        if check.kind not in _TESTS or rule is None or decision.baseline is None or not name_judge(rule.metric):
            continue
        uncertainty = _split(decision.candidate, decision.baseline, rule, check)
        if uncertainty is not None:
            yield uncertainty


def _split(candidate: Evaluation, baseline: Evaluation, rule: Rule, check: Check) -> Uncertainty | None:
    pairs = pair_scores(candidate, baseline, rule.metric, select_queries(rule, candidate.segments))
    if len(pairs) < 2:
        return None
    judge, changes = name_judge(rule.metric), pairs.after - pairs.before
    total = float(np.var(changes, ddof=1))
    if total == 0:
        return None
    noise = _measure_votes(candidate, judge) + _measure_votes(baseline, judge)
    again = _measure_repeats(candidate.repeats, rule.metric)
    answers = None if again is None else max(2 * again - noise, 0.0)
    noise, answers_part = min(noise, total), min(answers or 0.0, max(total - noise, 0.0))
    votes = _count_votes(candidate, judge)
    correction = find_correction(candidate, baseline, rule)
    change = None if correction is None else correction.difference
    open_check = check.outcome is Outcome.INCONCLUSIVE
    wanted = _find_wanted(check, total / len(pairs), change) if open_check else None
    return Uncertainty(
        metric=rule.metric,
        judge=judge,
        where=rule.where,
        queries=(total - noise - answers_part) / total,
        answers=None if answers is None else answers_part / total,
        votes=noise / total if votes > 1 else None,
        asked=votes,
        n=len(pairs),
        labels=0 if change is None else change.labels,
        needed_queries=None if wanted is None or change is not None else math.ceil(total / wanted),
        needed_votes=None if wanted is None or change is not None else _count_needed_votes(
            votes, noise, total, wanted * len(pairs)
        ),
        needed_labels=None if wanted is None or change is None else _count_needed_labels(change, wanted, len(pairs)),
    )  # fmt: skip


def _measure_votes(evaluation: Evaluation, judge: str) -> float:
    """Return the variance that the judge adds to the score of a query: that of its votes, over wordings and repeats."""
    column = f"JudgeNoise(name={judge!r})"
    if column not in evaluation.scores.measures:
        return 0.0
    _, values = evaluation.scores.present(column)
    return float(values.mean()) / max(len(evaluation.variants), 1) if len(values) else 0.0


def _measure_repeats(repeats: tuple[Scores, ...], metric: str) -> float | None:
    """Return the variance that asking again adds to the score of a query; None if nothing was repeated."""
    tables = [table for table in repeats if metric in table.measures]
    if len(tables) < 2:
        return None
    queries = tables[0].queries
    values = np.array([table.look_up(metric, queries) for table in tables])
    spread = np.var(values[:, ~np.isnan(values).any(axis=0)], axis=0, ddof=1)
    return float(spread.mean()) / len(tables) if spread.size else None


def _count_votes(evaluation: Evaluation, judge: str) -> int:
    votes = [
        count for trace in evaluation.traces if isinstance(count := trace.opinions.get(f"votes:{judge}"), int | float)
    ]
    return int(max(votes, default=1))


def _find_wanted(check: Check, variance: float, change: CorrectedMean | None) -> float | None:
    """Return the variance of the mean change that would decide, if the change stays what it is."""
    if change is None and check.needed:
        return variance * (check.n or 0) / check.needed if check.n else None
    if check.difference is None or check.limit is None:
        return None
    gain = check.difference if check.low is not None else -check.difference
    distance = abs(gain + check.limit)
    return (distance / _SIDES) ** 2 if distance > 0 else None


def _count_needed_votes(votes: int, noise: float, total: float, target: float) -> int | None:
    rest = total - noise
    if votes < 2 or noise <= 0 or rest >= target:
        return None
    return max(math.ceil(votes * noise / (target - rest)), votes + 1)


def _count_needed_labels(change: CorrectedMean, wanted: float, n: int) -> int | None:
    needed = math.ceil(change.labels * change.error**2 / wanted)
    return needed if change.labels < needed <= n else None


def describe_uncertainty(uncertainty: Uncertainty, costs: Mapping[str, str] | None = None) -> str:
    """Return a sentence with the parts of an uncertainty, and what would decide; ``costs`` are by queries and votes."""
    name = uncertainty.metric if uncertainty.where is None else f"{uncertainty.metric} {'='.join(uncertainty.where)}"
    parts = [f"queries {uncertainty.queries:.0%}"]
    parts.append("answers unknown (nothing was asked twice)" if uncertainty.answers is None
                 else f"answers {uncertainty.answers:.0%}")  # fmt: skip
    parts.append("judge unknown (one vote)" if uncertainty.votes is None else f"judge {uncertainty.votes:.0%}")
    ways = list(_list_ways(uncertainty, costs or {}))
    decide = f"; what would decide: {', or '.join(ways)}" if ways else ""
    return f"{name}: its uncertainty is {', '.join(parts)}{decide}"


def _list_ways(uncertainty: Uncertainty, costs: Mapping[str, str]) -> Iterator[str]:
    def cost(name: str) -> str:
        return f" ({costs[name]})" if name in costs else ""

    if uncertainty.needed_queries is not None:
        yield f"{uncertainty.needed_queries:,} queries in place of {uncertainty.n:,}{cost('queries')}"
    if uncertainty.needed_votes is not None:
        yield f"{uncertainty.needed_votes:,} votes in place of {uncertainty.asked:,}{cost('votes')}"
    if uncertainty.needed_labels is not None:
        more = uncertainty.needed_labels - uncertainty.labels
        yield f"{uncertainty.needed_labels:,} labels in place of {uncertainty.labels:,}, by people: {more:,} more"
