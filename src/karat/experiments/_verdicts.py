"""Verdicts on many variants at once: what each has to show, corrected for how many were tried.

A variant is accepted when it is shown to be no worse by every rule of the policy that asks for it, and, where a gain is
asked for, to be better. All that has to be shown of one variant is shown together only if each part is, so the largest
of their p-values is that of the whole (an intersection-union test: Berger, Multiparameter hypothesis testing and
acceptance sampling, Technometrics 24(4), 1982). Over the variants Holm's correction holds: the chance that any of them
is accepted although it is worse, or no better, stays below alpha however many are tried.

The other tests of a gate look for falls, and find fewer of them at a smaller level: corrected for many variants they
would accept more. They stay at the policy's own level, so that what the gate fails is never accepted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.gate import Check, Compared, Decision, compare, differences, lower_is_better
from karat.stats import Outcome, holm, permutation

ACCEPTED, REJECTED = "ACCEPTED", "REJECTED"
_TIE = 1e-9
_RESAMPLES = 10_000
_PER_VARIANT = 500  # flips: the smallest p is a five-hundredth after any correction
_SHOWN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The measure that variants are to improve."""

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
    change: Compared | None = None
    """The objective beside the baseline's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What becomes of a variant."""

    verdict: str
    reason: str
    p: float | None = None
    """Of all that has to be shown of it; None where nothing has to be."""
    corrected: float | None = None
    """The same, after Holm's correction over the variants."""


def claims(decision: Decision, objective: str, *, variants: int, seed: int = 0) -> Claims:
    """Weigh the scores of a variant: whether it is no worse, and whether it is better."""
    baseline = decision.baseline
    if baseline is None:
        return Claims()
    if objective not in baseline.scores.measures:
        return Claims(not_worse=_not_worse(decision))
    gains = _gains(decision, objective)
    resamples = max(_RESAMPLES, _PER_VARIANT * variants) - 1
    rng = np.random.default_rng(seed)
    (change,) = compare(decision.candidate, baseline, [objective], seed=seed)
    return Claims(
        not_worse=_not_worse(decision),
        gain=permutation(gains, rng=rng, resamples=resamples, alternative="greater").p if gains.any() else 1.0,
        change=change,
    )


def _not_worse(decision: Decision) -> float | None:
    """Give the largest p of the rules that ask for it; a rule that could not be tested shows nothing."""
    asked = [check for check in decision.checks if check.kind == "non_inferior"]
    return max((1.0 if check.p_worse is None else check.p_worse for check in asked), default=None)


def _gains(decision: Decision, measure: str) -> NDArray[np.float64]:
    """Give how much better each query became."""
    assert decision.baseline is not None
    pairs = differences(decision.candidate, decision.baseline, measure)
    before, after = np.array(list(pairs.values()), float).reshape(-1, 2).T
    gains = before - after if lower_is_better(measure) else after - before
    return np.where(np.abs(gains) <= _TIE, 0.0, gains)


def judge(decisions: Sequence[Decision], found: Sequence[Claims], objective: Objective) -> tuple[Judged, ...]:
    """Give the verdict on each of the variants that were tried together."""
    parts = [[one.not_worse, *([one.gain] if objective.required else [])] for one in found]
    alone = [max((p for p in part if p is not None), default=None) for part in parts]
    tested = [p for p in alone if p is not None]
    corrected = iter(holm(tested).tolist() if tested else [])
    judged = []
    for decision, one, p in zip(decisions, found, alone, strict=True):
        both = None if p is None else (p, next(corrected))
        verdict, reason = _verdict(decision, one, objective, both, len(tested))
        judged.append(Judged(verdict=verdict, reason=reason, p=p, corrected=both and both[1]))
    return tuple(judged)


def _verdict(
    decision: Decision, found: Claims, objective: Objective, both: tuple[float, float] | None, variants: int
) -> tuple[str, str]:
    policy = decision.policy
    if decision.outcome is Outcome.FAIL:
        return REJECTED, _reasons(decision, Outcome.FAIL)
    if decision.outcome is Outcome.INCONCLUSIVE:
        return REJECTED, f"inconclusive: {_reasons(decision, Outcome.INCONCLUSIVE)}"
    if objective.required and (found.gain is None or found.gain > policy.drop.alpha):
        return REJECTED, f"no gain is shown: {_moved(found.change)}, {_p(found.gain)}"
    if both is None:
        return ACCEPTED, f"passes policy {policy.name}, which makes no test"
    p, corrected = both
    if corrected > policy.drop.alpha:
        return REJECTED, f"inconclusive: {_p(p)} would do alone, but for {variants:,} variants it is {_p(corrected)}"
    sure = "no query changed" if p == 0 else f"{_p(corrected)}{f' for {variants:,} variants' if variants > 1 else ''}"
    gain = f"; {_moved(found.change)}" if objective.required else ""
    return ACCEPTED, f"not worse by policy {policy.name}{gain}; {sure}"


def _reasons(decision: Decision, outcome: Outcome) -> str:
    found = [check for check in decision.checks if check.outcome is outcome]
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(f"{check.name}: {check.reason}" for check in _once(found)[:_SHOWN]) + more


def _once(checks: Sequence[Check]) -> list[Check]:
    return list({(check.name, check.reason): check for check in checks}.values())


def _moved(change: Compared | None) -> str:
    if change is None:
        return "the baseline has no scores of it"
    if abs(change.difference) <= _TIE:
        return f"{change.measure} did not move"
    return f"{change.measure} {'rose' if change.difference > 0 else 'fell'} by {abs(change.difference):.3g}"


def _p(p: float | None) -> str:
    return "no p" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def undominated(points: Sequence[tuple[float, float] | None]) -> list[bool]:
    """Say of each (quality, cost) whether no other is at least as good in both and better in one; None never is.

    >>> undominated([(0.8, 10.0), (0.7, 5.0), (0.7, 20.0), None])
    [True, True, False, False]
    """
    there = [point for point in points if point is not None]
    return [
        point is not None
        and not any(other != point and other[0] >= point[0] and other[1] <= point[1] for other in there)
        for point in points
    ]
