"""Verdicts on many variants at once, corrected for how many were tried.

A variant is accepted when it is shown to be no worse by every rule of the policy that asks for this, and, where a gain
is asked for, to be better. These claims hold together only if each of them holds, so the largest of their p-values is
that of the whole (an intersection-union test: Berger, Multiparameter hypothesis testing and acceptance sampling,
Technometrics 24(4), 1982). The variants were asked the same queries, so they are corrected by the method of Westfall
and Young: the weakest claim of each variant is tested under the same sign flips of the queries. The chance that any
variant is accepted although it is worse, or no better, stays at about alpha however many are tried, and ten variants
that are nearly the same count as little more than one.

The other tests of a gate look for falls, and find fewer of them at a smaller level: corrected for many variants they
would accept more. They stay at the policy's own level, so that no variant that fails the gate is accepted here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from karat.gate import (
    Check,
    Comparison,
    Decision,
    align_changes,
    compare,
    lower_is_better,
    pair_scores,
    scale_of,
)
from karat.stats import Outcome, PairedScores, permutation, westfall_young

ACCEPTED, REJECTED = "ACCEPTED", "REJECTED"
_TIE = 1e-9
_SHOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The measure that variants should improve."""

    measure: str
    required: bool = False
    """Whether a variant without a gain is rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What the scores of one variant show, before any correction."""

    not_worse: float | None = None
    """The largest p of the tests that it is not worse; None where the policy asks for none."""
    gain: float | None = None
    """The p of the test for a gain on the objective; None without a baseline."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """By query: how far the measure with that largest p is above the tolerated drop."""
    gains: Mapping[str, float] = field(default_factory=dict)
    """By query: how much better the objective became."""
    change: Comparison | None = None
    """The objective beside the baseline's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantVerdict:
    """Whether a variant is accepted, and why."""

    word: str
    """ACCEPTED or REJECTED."""
    reason: str
    p: float | None = None
    """The p-value of all its claims together; None where nothing has to be shown."""
    corrected: float | None = None
    """The same, corrected for the number of variants."""


def weigh_claims(decision: Decision, objective: str, *, seed: int = 0) -> Claims:
    """Test the scores of a variant: whether it is no worse, and whether it is better."""
    baseline = decision.baseline
    if baseline is None:
        return Claims()
    not_worse, margins = _weigh_harm(decision)
    if objective not in baseline.scores.measures:
        return Claims(not_worse=not_worse, margins=margins)
    gains = _gains_by_query(decision, objective)
    values, flips = list(gains.values()), decision.policy.drop.flips
    rng = np.random.default_rng(seed)
    (change,) = compare(decision.candidate, baseline, [objective], seed=seed)
    return Claims(
        not_worse=not_worse,
        gain=permutation(values, rng=rng, resamples=flips, alternative="greater").p if any(values) else 1.0,
        margins=margins,
        gains=gains,
        change=change,
    )


def _weigh_harm(decision: Decision) -> tuple[float | None, dict[str, float]]:
    """Return the largest p of the rules that a variant is not worse, and by how much each query is above the limit.

    A rule that could not be tested shows nothing, and has p = 1. Without such a rule p is None.
    """
    checks = [check for check in decision.checks if check.kind == "non_inferior"]
    if not checks:
        return None, {}
    weakest = max(checks, key=_p_worse)
    if weakest.p_worse is None or weakest.limit is None or weakest.baseline is None:
        return 1.0, {}
    queries = decision.candidate.segments[weakest.where] if weakest.where else None
    logs = scale_of(weakest.metric) == "geometric"
    tolerance = -math.log1p(-weakest.limit / weakest.baseline) if logs else weakest.limit
    gains = _gains_by_query(decision, weakest.metric, queries)
    return weakest.p_worse, {query: gain + tolerance for query, gain in gains.items()}


def _p_worse(check: Check) -> float:
    return 1.0 if check.p_worse is None else check.p_worse


def _gains_by_query(decision: Decision, measure: str, queries: Sequence[str] | None = None) -> dict[str, float]:
    """Return how much better each query became, on the scale on which the measure is tested."""
    assert decision.baseline is not None
    pairs = pair_scores(decision.candidate, decision.baseline, measure, queries)
    gains = PairedScores(pairs.before, pairs.after, lower_is_better(measure), scale_of(measure)).differences()
    return dict(zip(pairs.queries, gains.tolist(), strict=True))


def decide_variants(
    decisions: Sequence[Decision], claims: Sequence[Claims], objective: Objective, *, seed: int = 0
) -> tuple[VariantVerdict, ...]:
    """Return the verdict on each of the variants that were tried together."""
    weakest = [_find_weakest(claim, objective) for claim in claims]
    largest = [None if claim is None else claim[0] for claim in weakest]
    tested = [claim for claim in weakest if claim is not None]
    flips = decisions[0].policy.drop.flips if decisions else 1
    corrected = iter(_correct_variants(tested, flips, seed))
    verdicts = []
    for decision, claim, p in zip(decisions, claims, largest, strict=True):
        tests = None if p is None else (p, next(corrected))
        word, reason = _verdict(decision, claim, objective, tests, len(tested))
        verdicts.append(VariantVerdict(word=word, reason=reason, p=p, corrected=tests and tests[1]))
    return tuple(verdicts)


def _find_weakest(claims: Claims, objective: Objective) -> tuple[float, Mapping[str, float]] | None:
    """Return the largest p of what a variant has to show, with the values by query behind it; None for nothing."""
    shown = [(claims.not_worse, claims.margins), *([(claims.gain, claims.gains)] if objective.required else [])]
    return max(((p, values) for p, values in shown if p is not None), key=lambda claim: claim[0], default=None)


def _correct_variants(claims: Sequence[tuple[float, Mapping[str, float]]], flips: int, seed: int) -> list[float]:
    """Return the p-values of all variants, corrected for each other.

    A variant in which nothing changed (p = 0) or that shows nothing (p = 1) does not count as a test.
    """
    corrected = [p for p, _ in claims]
    tested = [i for i, (p, _) in enumerate(claims) if 0 < p < 1]
    if len(tested) > 1:
        table = align_changes([(tuple(claims[i][1]), np.array(list(claims[i][1].values()))) for i in tested])
        rng = np.random.default_rng(seed)
        joint = westfall_young(table, rng=rng, resamples=flips, alternative="greater").adjusted.tolist()
        for i, adjusted in zip(tested, joint, strict=True):
            corrected[i] = max(corrected[i], adjusted)
    return corrected


def _verdict(
    decision: Decision, claims: Claims, objective: Objective, tests: tuple[float, float] | None, variants: int
) -> tuple[str, str]:
    policy = decision.policy
    if decision.outcome in (Outcome.ERROR, Outcome.FAIL):
        return REJECTED, _reasons(decision, decision.outcome)
    if decision.outcome is Outcome.INCONCLUSIVE:
        return REJECTED, f"inconclusive: {_reasons(decision, Outcome.INCONCLUSIVE)}"
    if objective.required and (claims.gain is None or claims.gain > policy.drop.alpha):
        return REJECTED, f"no gain is shown: {_describe_change(claims.change)}, {_p(claims.gain)} for it alone"
    if tests is None:
        return ACCEPTED, f"passes policy {policy.name}, which makes no test"
    p, corrected = tests
    if corrected > policy.drop.alpha:
        return REJECTED, f"inconclusive: {_p(p)} would do alone, but for {variants:,} variants it is {_p(corrected)}"
    among = f" for {variants:,} variants" if variants > 1 else ""
    certainty = "no query changed" if p == 0 else f"{_p(corrected)}{among}"
    gain = f"; {_describe_change(claims.change)}" if objective.required else ""
    return ACCEPTED, f"not worse by policy {policy.name}{gain}; {certainty}"


def _reasons(decision: Decision, outcome: Outcome) -> str:
    checks = [check for check in decision.checks if check.outcome is outcome]
    more = f"; and {len(checks) - _SHOWN} more" if len(checks) > _SHOWN else ""
    return "; ".join(f"{check.name}: {check.reason}" for check in _distinct(checks)[:_SHOWN]) + more


def _distinct(checks: Sequence[Check]) -> list[Check]:
    return list({(check.name, check.reason): check for check in checks}.values())


def _describe_change(change: Comparison | None) -> str:
    if change is None:
        return "the baseline has no scores for it"
    if abs(change.difference) <= _TIE:
        return f"{change.measure} did not move"
    return f"{change.measure} {'rose' if change.difference > 0 else 'fell'} by {abs(change.difference):.3g}"


def _p(p: float | None) -> str:
    return "no p" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def undominated(points: Sequence[tuple[float, float] | None]) -> list[bool]:
    """Return for each (quality, cost) whether no other is at least as good in both and better in one.

    It is False for None.

    >>> undominated([(0.8, 10.0), (0.7, 5.0), (0.7, 20.0), None])
    [True, True, False, False]
    """
    front: set[tuple[float, float]] = set()
    cheapest = math.inf
    # From the best quality down, and the cheapest of each first: a point has to be cheaper than all before it.
    for quality, cost in sorted(
        {point for point in points if point is not None}, key=lambda point: (-point[0], point[1])
    ):
        if cost < cheapest or not front:
            front.add((quality, cost))
            cheapest = cost
    return [point in front for point in points]
