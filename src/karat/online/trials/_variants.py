"""Trials of several treatments: each is compared with the control, at a level that is divided among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec import structs

from karat.online.flags import CONTROL
from karat.online.trials._judgment import CorpusRun, LogUse, TrialJudgment, check_flag, check_log, judge_trial
from karat.online.trials._observations import Observations
from karat.online.trials._plan import TrialPlan
from karat.schema.trials import TrialCondition
from karat.stats.sequential import Decision


def judge_variants(
    plan: TrialPlan,
    seen: Observations,
    corpora: dict[str, CorpusRun | None],
    log: LogUse | None = None,
    deals: Sequence[str] | None = None,
) -> TrialJudgment:
    """Return what a trial of any number of treatments allows; ``corpora`` has the run on the golden set of each.

    Each treatment is judged as if it were alone, with alpha divided by their number (Bonferroni): the probability that
    any useless one graduates stays below alpha. Harm of any stops the trial. Of those that are better and meet every
    condition the best one graduates; the trial is futile if every treatment is.
    """
    shared = (*check_log(log), *check_flag(plan, deals))
    if len(plan.treatments) == 1:
        (treatment,) = plan.treatments
        return judge_trial(plan, seen, corpora[treatment], log, deals)
    judged = {name: judge_trial(*_single_out(plan, seen, name), corpora[name]) for name in plan.treatments}
    decision, reason, winner = _combine(judged, shared)
    leader = winner or max(judged, key=lambda name: judged[name].log_better)
    return TrialJudgment(
        decision=decision,
        reason=reason,
        measures=tuple(
            structs.replace(measure, treatment=name) for name, own in judged.items() for measure in own.measures
        ),
        conditions=(
            *(structs.replace(own, name=f"{name}: {own.name}") for name in judged for own in judged[name].conditions),
            *shared,
        ),
        read_out=judged[leader].read_out,
        log_better=judged[leader].log_better,
        treatment=leader,
    )


def _single_out(plan: TrialPlan, seen: Observations, treatment: str) -> tuple[TrialPlan, Observations]:
    """Return plan and observations of one treatment and the control."""
    both = (CONTROL, treatment)
    own = replace(
        plan,
        shares={name: plan.planned.get(name, 1.0) for name in both},
        rule=replace(plan.rule, alpha=plan.rule.alpha / len(plan.treatments)),
    )
    return own, Observations(
        differences={name: seen.tally(plan.label(name, treatment)) for name in plan.compared},
        latencies={name: seen.latencies[name] for name in both if name in seen.latencies},
        units={name: seen.units[name] for name in both if name in seen.units},
    )


def _combine(judged: dict[str, TrialJudgment], shared: Sequence[TrialCondition]) -> tuple[Decision, str, str]:
    """Return the decision, why, and the treatment that graduates; empty if none does."""
    reason = "; ".join(f"{name}: {own.reason}" for name, own in judged.items())
    decisions = {own.decision for own in judged.values()}
    if Decision.HARM in decisions:
        return Decision.HARM, reason, ""
    better = [name for name, own in judged.items() if own.decision is Decision.GRADUATE]
    unmet = [own.name for own in shared if not own.met]
    if better and not unmet:
        best = max(better, key=lambda name: judged[name].measures[0].mean or 0.0)
        return Decision.GRADUATE, reason, best
    if unmet:
        reason += f"; not met: {', '.join(unmet)}"
    if decisions == {Decision.FUTILE}:
        return Decision.FUTILE, reason, ""
    if decisions <= {Decision.FUTILE, Decision.BELOW}:
        return Decision.BELOW, reason, ""
    return Decision.CONTINUE, reason, ""
