"""Verdicts on many variants at once, corrected for how many were tried.

A variant is accepted when it is shown to be no worse by every rule of the policy that asks for this, and, where a gain
is asked for, to be better. These claims hold together only if each of them holds, so the largest of their p-values is
that of the whole (an intersection-union test: Berger, Multiparameter hypothesis testing and acceptance sampling,
Technometrics 24(4), 1982). The variants are corrected by Holm's method: the chance that any of them is accepted
although it is worse, or no better, stays below alpha however many are tried.

The other tests of a gate look for falls, and find fewer of them at a smaller level: corrected for many variants they
would accept more. They stay at the policy's own level, so that no variant that fails the gate is accepted here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.gate import Check, Comparison, Decision, compare, lower_is_better, pair_scores
from karat.stats import Outcome, holm, permutation

ACCEPTED, REJECTED = "ACCEPTED", "REJECTED"
_TIE = 1e-9
_FEWEST_FLIPS, _MOST_FLIPS = 10_000, 1_000_000
_FLIPS_PER_VARIANT = 500
"""With these the smallest p is a five-hundredth after the correction, for up to 2,000 variants. There the number of
flips stops growing, so that a sweep's time grows with its variants and not with their square; p stays valid."""
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
    """The same after Holm's correction over the variants."""


def weigh_claims(decision: Decision, objective: str, *, variants: int, seed: int = 0) -> Claims:
    """Test the scores of a variant: whether it is no worse, and whether it is better."""
    baseline = decision.baseline
    if baseline is None:
        return Claims()
    if objective not in baseline.scores.measures:
        return Claims(not_worse=_not_worse(decision))
    gains = _gains(decision, objective)
    flips = min(max(_FEWEST_FLIPS, _FLIPS_PER_VARIANT * variants), _MOST_FLIPS) - 1
    rng = np.random.default_rng(seed)
    (change,) = compare(decision.candidate, baseline, [objective], seed=seed)
    return Claims(
        not_worse=_not_worse(decision),
        gain=permutation(gains, rng=rng, resamples=flips, alternative="greater").p if gains.any() else 1.0,
        change=change,
    )


def _not_worse(decision: Decision) -> float | None:
    """Return the largest p of the rules that ask for it; a rule that could not be tested shows nothing."""
    checks = [check for check in decision.checks if check.kind == "non_inferior"]
    return max((1.0 if check.p_worse is None else check.p_worse for check in checks), default=None)


def _gains(decision: Decision, measure: str) -> NDArray[np.float64]:
    """Return how much better each query became."""
    assert decision.baseline is not None
    pairs = pair_scores(decision.candidate, decision.baseline, measure)
    before, after = np.array(list(pairs.values()), float).reshape(-1, 2).T
    gains = before - after if lower_is_better(measure) else after - before
    return np.where(np.abs(gains) <= _TIE, 0.0, gains)


def decide_variants(
    decisions: Sequence[Decision], claims: Sequence[Claims], objective: Objective
) -> tuple[VariantVerdict, ...]:
    """Return the verdict on each of the variants that were tried together."""
    shown = [[claim.not_worse, *([claim.gain] if objective.required else [])] for claim in claims]
    largest = [max((p for p in values if p is not None), default=None) for values in shown]
    tested = [p for p in largest if p is not None]
    corrected = iter(holm(tested).tolist() if tested else [])
    verdicts = []
    for decision, claim, p in zip(decisions, claims, largest, strict=True):
        tests = None if p is None else (p, next(corrected))
        word, reason = _verdict(decision, claim, objective, tests, len(tested))
        verdicts.append(VariantVerdict(word=word, reason=reason, p=p, corrected=tests and tests[1]))
    return tuple(verdicts)


def _verdict(
    decision: Decision, claims: Claims, objective: Objective, tests: tuple[float, float] | None, variants: int
) -> tuple[str, str]:
    policy = decision.policy
    if decision.outcome in (Outcome.ERROR, Outcome.FAIL):
        return REJECTED, _reasons(decision, decision.outcome)
    if decision.outcome is Outcome.INCONCLUSIVE:
        return REJECTED, f"inconclusive: {_reasons(decision, Outcome.INCONCLUSIVE)}"
    if objective.required and (claims.gain is None or claims.gain > policy.drop.alpha):
        return REJECTED, f"no gain is shown: {_describe_change(claims.change)}, {_p(claims.gain)}"
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
