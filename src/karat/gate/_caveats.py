"""What a gate cannot see: floors that nothing reaches, and drops below what the queries can show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import stdev

from karat.core import GoldenSet, Unit, UsageError
from karat.gate._comparison import differences
from karat.gate._decision import Decision
from karat.gate._policy import Rule
from karat.golden import ceiling
from karat.stats import detectable, sample_size

_SPREAD = 0.25
"""Standard deviation of differences between two systems, where no baseline tells it: the middle of three guesses."""


def caveats(decision: Decision, golden: GoldenSet, *, unit: Unit = "document") -> list[str]:
    """Say which rules of a gate ask for more than the golden set can give, with the number of queries that would."""
    return [*_unreachable(decision, golden, unit), *_unseen(decision)]


def _unreachable(decision: Decision, golden: GoldenSet, unit: Unit) -> Iterator[str]:
    for rule in decision.policy.rules:
        if rule.min is None or not rule.is_measure or rule.where is not None:
            continue
        try:
            (best,) = ceiling(golden, [rule.metric], unit=unit)
        except UsageError:  # of some measures the best mean is not known
            continue
        if best.best is not None and best.best < rule.min:
            why = f" ({best.because})" if best.because else ""
            yield f"{rule.name} >= {rule.min:g} cannot be reached: the best mean of any ranking is {best.best:.4f}{why}"


def _unseen(decision: Decision) -> Iterator[str]:
    for rule in decision.policy.rules:
        tolerated = _tolerated(rule, decision)
        if not tolerated:
            continue
        n, spread = _spread(rule, decision)
        if n < 2 or detectable(n, spread, sides=1) > tolerated:
            seen = (
                f"the smallest drop that {n} queries show is {detectable(n, spread, sides=1):.3g}"
                if n > 1
                else f"{n} queries show nothing"
            )
            needed = sample_size(tolerated, spread, sides=1)
            yield f"{rule.name}: {seen}; a drop of {tolerated:.3g} needs about {needed:,}"


def _tolerated(rule: Rule, decision: Decision) -> float | None:
    """Give the smallest fall that a rule should catch; None where it looks for none."""
    if not rule.is_measure or rule.lower_is_better:
        return None
    before = (decision.baseline or decision.candidate).mean(rule.metric)
    limits = [rule.max_drop_abs, None if rule.max_drop_rel is None else rule.max_drop_rel * abs(before)]
    if rule.significant_drop or rule.non_inferior:
        limits.append(decision.policy.drop.margin(before))
    return min((limit for limit in limits if limit is not None and math.isfinite(limit)), default=None)


def _spread(rule: Rule, decision: Decision) -> tuple[int, float]:
    """Give the number of queries, and the standard deviation of their differences: measured, or a guess."""
    queries = decision.groups.get(rule.where) if rule.where else None
    if decision.baseline is None:
        return len(decision.candidate.scores(rule.metric, queries)), _SPREAD
    changed = [
        after - before
        for before, after in differences(decision.candidate, decision.baseline, rule.metric, queries).values()
    ]
    return len(changed), (stdev(changed) if len(changed) > 1 else 0.0) or _SPREAD
