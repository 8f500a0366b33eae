"""What a gate cannot see: floors that nothing reaches, and drops below what the queries can show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import stdev

from karat.core import GoldenSet, KaratError, Unit, UsageError
from karat.gate._comparison import differences, lower_is_better
from karat.gate._decision import Decision
from karat.gate._policy import Rule
from karat.golden import ceiling
from karat.stats import Outcome, detectable, sample_size

_SPREAD = 0.25
"""Standard deviation of differences between two systems, where no baseline tells it: the middle of three guesses."""


_DECIDED = (
    ("non_inferior", Outcome.PASS),
    ("non_inferior", Outcome.FAIL),
    ("significant_drop", Outcome.FAIL),
)


def caveats(decision: Decision, golden: GoldenSet, *, unit: Unit = "document") -> list[str]:
    """Say what else to know: queries that failed, and rules that ask for more than the golden set can give."""
    return [
        *_failed(decision),
        *_unasked(decision, golden),
        *_floored(decision),
        *_unreachable(decision, golden, unit),
        *_unseen(decision),
    ]


def _failed(decision: Decision) -> Iterator[str]:
    failed = decision.candidate.failures
    if failed:
        query, error = next(iter(failed.items()))
        asked = len(decision.candidate.queries)
        yield f"{len(failed):,} of {asked:,} queries failed and count as 0, such as {query}: {error}"


def _unasked(decision: Decision, golden: GoldenSet) -> Iterator[str]:
    asked, there = len(decision.candidate.queries), len(golden.queries)
    if asked < there:
        yield f"the run is a sample: {asked:,} of the {there:,} queries were asked, and nothing is known of the others"


def _floored(decision: Decision) -> Iterator[str]:
    """Warn about measures whose baseline is 0: nothing can fall below it, so every run passes."""
    before = decision.baseline
    names = dict.fromkeys(rule.metric for rule in decision.policy.rules if rule.is_measure)
    for name in names if before is not None else ():
        if before is not None and before.mean(name) == 0 and not lower_is_better(name):
            yield f"{name} is 0 in the baseline, and cannot fall: record a better one"


def _unreachable(decision: Decision, golden: GoldenSet, unit: Unit) -> Iterator[str]:
    for rule in decision.policy.rules:
        if rule.min is None or not rule.is_measure or rule.where is not None:
            continue
        try:
            (best,) = ceiling(golden, [rule.metric], unit=unit)
        except KaratError:  # of some measures, or ways of judging, the best mean is not known
            continue
        if best.best is not None and best.best < rule.min:
            why = f" ({best.because})" if best.because else ""
            yield f"{rule.name} >= {rule.min:g} cannot be reached: the best mean of any ranking is {best.best:.4f}{why}"


def _unseen(decision: Decision) -> Iterator[str]:
    shown = {(one.metric, one.where) for one in decision.checks if (one.kind, one.outcome) in _DECIDED}
    for rule in decision.policy.rules:
        tolerated = _tolerated(rule, decision)
        if not tolerated or (rule.metric, rule.where) in shown:  # what is decided needs no more queries
            continue
        n, measured = _spread(rule, decision)
        if not n:
            continue
        spread, move = measured or _SPREAD, "rise" if rule.lower_is_better else "drop"
        least = detectable(n, spread, sides=1) if n > 1 else math.inf
        if least > tolerated:
            seen = f"the smallest {move} that {n:,} queries show is {least:.3g}" if n > 1 else "one query shows nothing"
            guess = "" if measured else f", if differences spread by {_SPREAD:g}"
            yield f"{rule.name}: {seen}; a {move} of {tolerated:.3g} needs {_needed(tolerated, spread)}{guess}"


def _needed(effect: float, spread: float) -> str:
    try:
        return f"about {sample_size(effect, spread, sides=1):,}"
    except UsageError:  # sample_size() refuses effects this small
        return "more than anyone has"


def _tolerated(rule: Rule, decision: Decision) -> float | None:
    """Give the smallest fall, or rise where less is better, that a rule should catch; None where it looks for none."""
    if not rule.is_measure:
        return None
    before = (decision.baseline or decision.candidate).mean(rule.metric, _queries(rule, decision))
    limits = [rule.max_drop_abs, rule.max_rise_abs]
    limits += [share * abs(before) for share in (rule.max_drop_rel, rule.max_rise_rel) if share is not None]
    if rule.significant_drop or rule.non_inferior:
        limits.append(decision.policy.drop.margin(before))
    return min((limit for limit in limits if limit is not None and math.isfinite(limit)), default=None)


def _queries(rule: Rule, decision: Decision) -> Sequence[str] | None:
    return decision.candidate.segments[rule.where] if rule.where else None


def _spread(rule: Rule, decision: Decision) -> tuple[int, float]:
    """Give the number of queries, and the standard deviation of their differences; 0 where that is not known."""
    queries = _queries(rule, decision)
    scored = decision.candidate.values(rule.metric, queries)
    if decision.baseline is None or not decision.baseline.has_queries:
        return len(scored), 0.0
    changed = [
        after - before
        for before, after in differences(decision.candidate, decision.baseline, rule.metric, queries).values()
    ]
    return len(changed), stdev(changed) if len(changed) > 1 else 0.0
