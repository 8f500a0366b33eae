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
from dataclasses import dataclass, field, replace

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
    untested: str = ""
    """Why that is no p of a test, but 0 where nothing has to be shown, or 1 where nothing can be; "" if it is one."""
    gain: float | None = None
    """The p of the test for a gain on the objective; None if there is nothing to test."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """By query: how far the measure with that largest p is above the tolerated drop."""
    gains: Mapping[str, float] = field(default_factory=dict)
    """By query: how much better the objective became."""
    change: Comparison | None = None
    """The objective beside the baseline's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantVerdict:
    """Whether a variant is accepted, and why; a p that was not computed is None, with a reason."""

    word: str
    """ACCEPTED or REJECTED."""
    reason: str
    p: float | None = None
    """The p-value of all its claims together."""
    corrected: float | None = None
    """The same, corrected for the number of variants."""
    untested: str = ""
    """Why there is no p; "" if there is one."""


def weigh_claims(decision: Decision, objective: str, *, seed: int = 0) -> Claims:
    """Test the scores of a variant: whether it is no worse, and whether it is better."""
    baseline = decision.baseline
    if baseline is None:
        return Claims()
    claims = _weigh_harm(decision)
    gains = _gains_by_query(decision, objective) if objective in baseline.scores.measures else {}
    if not gains:
        return claims
    values, flips = list(gains.values()), decision.policy.drop.flips
    rng = np.random.default_rng(seed)
    (change,) = compare(decision.candidate, baseline, [objective], seed=seed)
    return replace(
        claims,
        gain=permutation(values, rng=rng, resamples=flips, alternative="greater").p if any(values) else 1.0,
        gains=gains,
        change=change,
    )


def _weigh_harm(decision: Decision) -> Claims:
    """Return the largest p of the rules that a variant is not worse, and by how much each query is above the limit.

    A rule that could not be tested shows nothing, and counts as p = 1; one of a measure on which all queries changed
    alike has nothing to show, and counts as 0 or 1. Without such a rule p is None.
    """
    checks = [check for check in decision.checks if check.kind == "non_inferior"]
    if not checks:
        return Claims()
    weakest = max(checks, key=_p_worse)
    if weakest.p_worse is None or weakest.limit is None or weakest.baseline is None:
        return Claims(not_worse=1.0, untested=f"{weakest.name} could not be tested")
    queries = decision.candidate.segments[weakest.where] if weakest.where else None
    logs = scale_of(weakest.metric) == "geometric"
    tolerance = -math.log1p(-weakest.limit / weakest.baseline) if logs else weakest.limit
    gains = _gains_by_query(decision, weakest.metric, queries)
    untested = ""
    if not gains or max(gains.values()) - min(gains.values()) <= _TIE:
        unchanged = all(check.p_worse == check.difference == 0 for check in checks)
        untested = "no query changed" if unchanged else f"all queries changed alike on {weakest.metric}"
    margins = {query: gain + tolerance for query, gain in gains.items()}
    return Claims(not_worse=weakest.p_worse, untested=untested, margins=margins)


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
    weakest = [_find_weakest(decision, claim, objective) for decision, claim in zip(decisions, claims, strict=True)]
    tested = [claim for claim in weakest if not claim.untested]
    flips = decisions[0].policy.drop.flips if decisions else 1
    corrected = iter(_correct_variants(tested, flips, seed))
    verdicts = []
    for decision, claim, shown in zip(decisions, claims, weakest, strict=True):
        tests = None if shown.untested else (shown.p, next(corrected))
        word, reason = _verdict(decision, claim, objective, shown, tests, len(tested))
        p, adjusted = tests or (None, None)
        verdicts.append(VariantVerdict(word=word, reason=reason, p=p, corrected=adjusted, untested=shown.untested))
    return tuple(verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a variant has to show, and is furthest from showing."""

    p: float
    values: Mapping[str, float] = field(default_factory=dict)
    """The values by query that are tested."""
    untested: str = ""
    """Why p was not computed, but is 0 for what needs no proof, or 1 for what has none; "" if it was."""


def _find_weakest(decision: Decision, claims: Claims, objective: Objective) -> _Claim:
    """Return the claim of a variant with the largest p."""
    name = decision.policy.name
    if decision.baseline is None:
        no_harm = _Claim(p=0.0, untested="there is no baseline")
    elif claims.not_worse is None:
        no_harm = _Claim(p=0.0, untested=f"policy {name} makes no test")
    else:
        no_harm = _Claim(p=claims.not_worse, values=claims.margins, untested=claims.untested)
    if not objective.required:
        return no_harm
    if claims.gain is None:
        return _Claim(p=1.0, untested=_explain_no_gain(decision, objective.measure))
    return max(no_harm, _Claim(p=claims.gain, values=claims.gains), key=lambda claim: claim.p)


def _explain_no_gain(decision: Decision, measure: str) -> str:
    """Return why a gain could not be tested."""
    if decision.baseline is None:
        return "there is no baseline"
    if measure not in decision.baseline.scores.measures:
        return f"the baseline has no scores of {measure} for single queries"
    return f"no query has a value of {measure} in both runs"


def _correct_variants(claims: Sequence[_Claim], flips: int, seed: int) -> list[float]:
    """Return the p-values of all variants, corrected for each other; one with p = 1 takes nothing from the others."""
    corrected = [claim.p for claim in claims]
    tested = [i for i, claim in enumerate(claims) if 0 < claim.p < 1]
    if len(tested) > 1:
        table = align_changes([(tuple(claims[i].values), np.array(list(claims[i].values.values()))) for i in tested])
        rng = np.random.default_rng(seed)
        joint = westfall_young(table, rng=rng, resamples=flips, alternative="greater").adjusted.tolist()
        for i, adjusted in zip(tested, joint, strict=True):
            corrected[i] = max(corrected[i], adjusted)
    return corrected


def _verdict(
    decision: Decision,
    claims: Claims,
    objective: Objective,
    weakest: _Claim,
    tests: tuple[float, float] | None,
    variants: int,
) -> tuple[str, str]:
    policy = decision.policy
    if decision.outcome in (Outcome.ERROR, Outcome.FAIL):
        return REJECTED, _reasons(decision, decision.outcome)
    if decision.outcome is Outcome.INCONCLUSIVE:
        return REJECTED, f"inconclusive: {_reasons(decision, Outcome.INCONCLUSIVE)}"
    if objective.required and claims.gain is None:
        return REJECTED, f"no gain is shown: {weakest.untested}"
    moved = _describe_change(claims.change) if claims.change else ""
    if objective.required and claims.gain is not None and claims.gain > policy.drop.alpha:
        return REJECTED, f"no gain is shown: {moved}, {_p(claims.gain)} for it alone"
    if claims.not_worse is None and not objective.required:
        return ACCEPTED, f"passes policy {policy.name}, which makes no test"
    if tests is None:
        if weakest.p > policy.drop.alpha:
            return REJECTED, f"inconclusive: {weakest.untested}"
        return ACCEPTED, f"not worse by policy {policy.name}; {weakest.untested}"
    p, corrected = tests
    if corrected > policy.drop.alpha:
        return REJECTED, f"inconclusive: {_p(p)} would do alone, but for {variants:,} variants it is {_p(corrected)}"
    among = f" for {variants:,} variants" if variants > 1 else ""
    gain = f"; {moved}" if objective.required else ""
    return ACCEPTED, f"not worse by policy {policy.name}{gain}; {_p(corrected)}{among}"


def _reasons(decision: Decision, outcome: Outcome) -> str:
    checks = [check for check in decision.checks if check.outcome is outcome]
    more = f"; and {len(checks) - _SHOWN} more" if len(checks) > _SHOWN else ""
    return "; ".join(f"{check.name}: {check.reason}" for check in _distinct(checks)[:_SHOWN]) + more


def _distinct(checks: Sequence[Check]) -> list[Check]:
    return list({(check.name, check.reason): check for check in checks}.values())


def _describe_change(change: Comparison) -> str:
    if abs(change.difference) <= _TIE:
        return f"{change.measure} did not move"
    return f"{change.measure} {'rose' if change.difference > 0 else 'fell'} by {abs(change.difference):.3g}"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


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
