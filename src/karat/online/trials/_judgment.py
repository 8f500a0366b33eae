"""What a trial allows: the test of the measure that decides, guardrails, and the conditions of graduation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from karat.core import count_things
from karat.online.flags import CONTROL
from karat.online.trials._behaviour import CLICK_RR, SUCCESS, is_behavioural
from karat.online.trials._observations import UNJUDGED, Observations, find_p95
from karat.online.trials._plan import TrialPlan
from karat.schema.trials import TrialCondition, TrialMeasure, TrialReadOut
from karat.stats.sequential import Assessment, Decision, assess, check_sample_ratio, read_out, wald_sprt

_MOST_LATE = 0.01
"""The share of sessions that may have gone on after they were measured, or cannot be read."""

_SHOWN_DEALS = 3
_MOST_SKEW = 6.0
"""Standard deviations; chance alone does not get there, however long a trial is and however often it is looked at."""


@dataclass(frozen=True, slots=True)
class CorpusRun:
    """The run on the golden set that was recorded last for the feature."""

    run: str
    outcome: str
    delta: float | None
    """The difference to its baseline in the measure that decides; None if that is unknown."""
    baseline: str = ""
    """What it was compared with: the name of the baseline, or the id of a run."""
    recorded: str = ""
    """The day on which that was recorded; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialJudgment:
    """What the evidence of a trial allows, and why."""

    decision: Decision
    reason: str
    measures: tuple[TrialMeasure, ...]
    conditions: tuple[TrialCondition, ...]
    read_out: TrialReadOut | None
    log_better: float
    treatment: str = ""
    """Of several treatments the one that graduates, or for which there is most evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogUse:
    """What became of the sessions of the logs that a trial was measured from."""

    over: int
    """Sessions that were measured."""
    late: int
    """Those of which more was recorded after they had been measured."""
    unreadable: int = 0
    """Sessions, beside them, whose variants make no sense, or whose task outcome is not from 0 to 1."""
    skew: float = 0.0
    """The most standard deviations that the numbers of the variants were ever away from what was planned."""


def judge_trial(
    plan: TrialPlan,
    seen: Observations,
    corpus: CorpusRun | None = None,
    log: LogUse | None = None,
    deals: Sequence[str] | None = None,
) -> TrialJudgment:
    """Return what a trial allows.

    Harm in the deciding measure or in a guardrail stops it whatever else holds. A better treatment graduates only if
    every condition is met; what was not measured is not met. ``deals`` are the changes of the feature's flag since the
    trial started that dealt sessions anew; None if it has no flag.
    """
    deciding = assess(seen.tally(plan.measure), plan.rule)
    guards = {name: assess(seen.tally(name), plan.rule) for name in plan.guardrails}
    conditions = (*_check(plan, seen, corpus, deciding, guards), *check_log(log), *check_flag(plan, deals))
    decision, reason = _decide(plan, deciding, guards, conditions)
    return TrialJudgment(
        decision=decision,
        reason=reason,
        measures=(
            _to_measure(plan.measure, deciding, guardrail=False),
            *(_to_measure(name, own, guardrail=True) for name, own in guards.items()),
        ),
        conditions=conditions,
        read_out=_read_out(plan, seen),
        log_better=deciding.log_better,
    )


def _decide(
    plan: TrialPlan, deciding: Assessment, guards: dict[str, Assessment], conditions: tuple[TrialCondition, ...]
) -> tuple[Decision, str]:
    harmed = [name for name, own in ({plan.measure: deciding} | guards).items() if own.decision is Decision.HARM]
    if harmed:
        return Decision.HARM, f"the treatment is worse in {', '.join(harmed)}"
    if deciding.decision is Decision.FUTILE:
        return Decision.FUTILE, f"the treatment is not better by {plan.rule.effect:g} in {plan.measure}"
    if deciding.decision is Decision.BELOW:
        return Decision.BELOW, f"the treatment is better in {plan.measure}, but by less than {plan.rule.effect:g}"
    unmet = [condition.name for condition in conditions if not condition.met]
    if deciding.decision is Decision.GRADUATE and not unmet:
        return Decision.GRADUATE, f"the treatment is better in {plan.measure}, and every condition is met"
    if deciding.decision is Decision.GRADUATE:
        return Decision.CONTINUE, f"the treatment is better in {plan.measure}, but not met: {', '.join(unmet)}"
    return Decision.CONTINUE, f"nothing is decided in {plan.measure} after {count_things(deciding.n, 'difference')}"


def _check(
    plan: TrialPlan,
    seen: Observations,
    corpus: CorpusRun | None,
    deciding: Assessment,
    guards: dict[str, Assessment],
) -> Iterator[TrialCondition]:
    """Yield the conditions of graduation: the four of "agent", and what makes the evidence fit to decide."""
    yield _check_corpus(plan, corpus)
    enough = deciding.n >= plan.least
    met = enough and deciding.decision in (Decision.GRADUATE, Decision.BELOW)
    missing = "" if enough else f"; {plan.least:,} are needed"
    yield _condition(
        "sequential", f"{deciding.decision.value} after {count_things(deciding.n, 'difference')}{missing}", met=met
    )
    if plan.must_show:
        shown = seen.tally(plan.must_show)
        detail = (
            "not measured" if shown.mean is None else f"{shown.mean:+.4f} over {count_things(shown.n, 'difference')}"
        )
        yield _condition("must-show", detail, met=shown.n >= plan.least and shown.mean is not None and shown.mean >= 0)
    yield _check_latency(plan, seen)
    yield _check_source(plan, seen)
    if plan.source != "interleaving":  # where everybody sees both, nobody is assigned
        ratio = check_sample_ratio(seen.units, plan.planned)
        counted = sum(seen.units.values())
        detail = f"p = {ratio.p:.3g} for {count_things(counted, 'unit')}" if counted else "not measured"
        yield _condition("sample-ratio", detail, met=counted > 0 and not ratio.mismatched)
    if guards:
        few = [f"{name} in {own.n:,}" for name, own in guards.items() if own.n < plan.least]
        detail = f"of {plan.least:,} differences measured: {', '.join(few)}" if few else "measured"
        yield _condition("guardrails", detail, met=not few)


_RECORD = "karat online record REPORT STORE --feature"


def _check_corpus(plan: TrialPlan, corpus: CorpusRun | None) -> TrialCondition:
    if corpus is None:
        return _condition("corpus", f"no run on the golden set is recorded: {_RECORD} {plan.feature}", met=False)
    if corpus.delta is None:
        return _condition("corpus", f"{corpus.run} has no difference in {plan.on_golden_set}", met=False)
    needs = [f"it has to improve {plan.on_golden_set}"] if corpus.delta <= 0 else []
    needs += ["its gate has to pass"] if corpus.outcome != "pass" else []
    baseline = corpus.baseline or "without a name"
    day = f" of {corpus.recorded}" if corpus.recorded else ""
    detail = (
        f"{corpus.delta:+.4f} in {plan.on_golden_set}, {corpus.outcome}: {corpus.run} against baseline {baseline}{day}"
    )
    return _condition("corpus", ": ".join(filter(None, [" and ".join(needs), detail])), met=not needs)


def check_log(log: LogUse | None) -> Iterator[TrialCondition]:
    """Yield whether the log was complete when it was read; nothing if no log was."""
    if log is not None:
        detail = f"{log.late:,} of {log.over:,} sessions went on after they were measured"
        if log.unreadable:
            detail += f"; {log.unreadable:,} more could not be read"
        if log.skew > _MOST_SKEW:
            detail += f"; the shares of the variants were {log.skew:.0f} standard deviations off for a while"
        lost = max(log.late, log.unreadable)
        yield _condition("log", detail, met=lost <= _MOST_LATE * log.over and log.skew <= _MOST_SKEW)


def check_flag(plan: TrialPlan, deals: Sequence[str] | None) -> Iterator[TrialCondition]:
    """Yield whether sessions were dealt in one way; nothing if the flag deals none."""
    if plan.source == "sessions" and deals is not None:
        more = f" and {len(deals) - _SHOWN_DEALS:,} more" if len(deals) > _SHOWN_DEALS else ""
        changes = f"changed since the trial started: {'; '.join(deals[:_SHOWN_DEALS])}{more}; start a new trial"
        yield _condition("flag", changes if deals else "as it was when the trial started", met=not deals)


def _check_latency(plan: TrialPlan, seen: Observations) -> TrialCondition:
    names = (CONTROL, *(name for name in plan.planned if name != CONTROL))
    counts = {name: sum(seen.latencies.get(name, {}).values()) for name in names}
    if min(counts.values()) < plan.least:
        return _condition("latency", f"fewer than {plan.least:,} latencies of each variant", met=False)
    control = find_p95(seen.latencies[CONTROL]) or 0.0
    slowest = max(find_p95(seen.latencies[name]) or 0.0 for name in names[1:])
    detail = f"p95 {slowest:g} ms, control {control:g} ms"
    return _condition("latency", detail, met=slowest < plan.latency_ratio * control)


def _check_source(plan: TrialPlan, seen: Observations) -> TrialCondition:
    """Return whether the differences are fair to the treatment."""
    if plan.source == "clicks":
        return _condition("judged", "clicks on the control's list say nothing about what was not in it", met=False)
    if plan.source == "interleaving":
        return _condition("judged", "people chose between both", met=True)
    if plan.source == "sessions" and is_behavioural(plan.measure):
        return _check_clicks(plan)
    unjudged = seen.tally(UNJUDGED).mean
    if unjudged is None:
        return _condition("judged", "the share of results without a judgment was not measured", met=False)
    detail = f"{unjudged:+.4f} more results without a judgment, of {plan.unjudged_margin:g} allowed"
    return _condition("judged", detail, met=unjudged <= plan.unjudged_margin)


def _check_clicks(plan: TrialPlan) -> TrialCondition:
    """Return whether more than clicks decides: what is clicked may be junk that looks good."""
    others = [name for name in plan.guardrails if name == SUCCESS or not is_behavioural(name)]
    if plan.measure == CLICK_RR and not others:
        detail = f"clicks alone decide; they need a guardrail such as {SUCCESS}, or a measure by judgments"
        return _condition("judged", detail, met=False)
    return _condition("judged", "each variant is judged by the sessions that saw it", met=True)


def _condition(name: str, detail: str, *, met: bool) -> TrialCondition:
    return TrialCondition(name=name, met=met, detail=detail)


def _to_measure(name: str, seen: Assessment, *, guardrail: bool) -> TrialMeasure:
    return TrialMeasure(
        measure=name,
        guardrail=guardrail,
        n=seen.n,
        mean=seen.mean,
        low=seen.low,
        high=seen.high,
        log_better=seen.log_better,
        log_worse=seen.log_worse,
        log_below_effect=seen.log_below_effect,
        decision=seen.decision.value,
        alpha=seen.rule.alpha,
        beta=seen.rule.beta,
        effect=seen.rule.effect,
    )


def _read_out(plan: TrialPlan, seen: Observations) -> TrialReadOut | None:
    tally = seen.tally(plan.measure)
    if not tally.n:
        return None
    pairs = plan.source != "sessions" or len(set(plan.planned.values())) == 1
    shown = read_out(tally, rng=np.random.default_rng(tally.n), resamples=1_000, pairs=pairs)
    wald = None if plan.sigma is None else wald_sprt(tally, plan.sigma, plan.rule)
    return TrialReadOut(
        bootstrap_low=shown.low,
        bootstrap_high=shown.high,
        probability_better=shown.probability_better,
        wins=shown.wins,
        ties=shown.ties,
        losses=shown.losses,
        wald=None if wald is None else wald.log_likelihood_ratio,
        wald_says=None if wald is None else wald.decision.value,
    )
