"""Trials in a store: started, measured by any number of writers, looked at, decided once, and looked back at."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from karat.core import InputError, Measure, MeasureError, UsageError, did_you_mean, is_text
from karat.online._times import format_time
from karat.online.flags import CONTROL, change_flag_in, collect_flags
from karat.online.trials._behaviour import BEHAVIOUR, is_behavioural
from karat.online.trials._dealing import list_deals, list_deals_since
from karat.online.trials._judgment import CorpusRun, LogUse
from karat.online.trials._observations import Observations
from karat.online.trials._plan import CHOICES, TrialPlan, decode_plan, encode_plan
from karat.online.trials._position import FILE, LOG, ORIGIN, LogPosition, read_positions
from karat.online.trials._variants import judge_variants
from karat.schema.trials import (
    TrialLog,
    TrialOutcome,
    TrialStatus,
    TrialTransition,
)
from karat.stats.sequential import Decision
from karat.store import Row, Store, open_store

OVER = ("graduated", "rejected")
_LARGEST_COUNT = 10_000_000
"""In a batch: all that a store adds up stays a number that it can hold, and that a look has room for."""
_EXIT_CODES = {"graduated": 0, "rejected": 1, "paused": 4}
_MOVES: dict[Decision, tuple[str, dict[str, Any]]] = {
    Decision.GRADUATE: ("graduated", {"percent": 100.0}),
    Decision.HARM: ("rejected", {"enabled": False}),
    Decision.FUTILE: ("rejected", {"percent": 0.0}),
    Decision.BELOW: ("paused", {}),
}
"""What becomes of a trial, and of the feature's flag, by the decision."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A row of the table of trials."""

    key: int
    feature: str
    number: int
    status: str
    plan: TrialPlan
    version: int
    looks: int
    started: float
    """Seconds since 1970."""


def start_trial(path: str | os.PathLike[str], plan: TrialPlan, *, now: float | None = None) -> TrialStatus:
    """Start a trial of a feature, which must not have one that is running or paused.

    ``now`` is when it starts, in seconds since 1970: sessions of the log that began before are left out.
    """
    _require_measures(plan)
    _require_variants(plan)
    rule = plan.rule
    bounds = -math.log(rule.alpha), math.log(rule.beta)
    with open_store(path, write=True) as store, store.transaction():
        flag = store.flag(plan.feature)
        version = 0 if flag is None else int(flag[1])
        _require_rollout(store, plan)
        fixed = encode_plan(replace(plan, shares=_plan_shares(store, plan), flag_version=version))
        row = (plan.feature, *bounds, plan.least, rule.effect, fixed, time.time() if now is None else now)
        if not store.trials.add(row):
            raise UsageError(f"a trial of {plan.feature!r} is not over: stop it, or let it decide")
        store.trials.forget_earlier_sessions(plan.feature)
        return look(store, find_trial(store, plan.feature))


def _require_rollout(store: Store, plan: TrialPlan) -> None:
    """Refuse a trial of sessions whose flag gives the feature to nobody: switching it on later would spoil the trial.

    Without a flag the host says by itself who gets the feature.
    """
    known = collect_flags(store).get(plan.feature)
    if plan.source == "sessions" and known is not None and not (known[0].enabled and known[0].percent):
        state = "has a rollout of 0 %" if known[0].enabled else "is switched off"
        raise UsageError(
            f"the flag {plan.feature!r} {state}: nobody gets the feature, and a flag that is changed after the start "
            f"keeps a trial from graduating; set it first, as with 'karat flag set {plan.feature} --percent 50 --on'"
        )


def _plan_shares(store: Store, plan: TrialPlan) -> dict[str, float]:
    """Return how many units each variant should get: as planned, or as the flag of the feature says now."""
    flag = collect_flags(store).get(plan.feature)
    if plan.shares is None and plan.source == "sessions" and flag is not None and 0 < flag[0].percent < 100:
        weights = flag[0].variants
        part = flag[0].percent / sum(weights.values())
        return {CONTROL: 100 - flag[0].percent} | {name: part * weight for name, weight in weights.items()}
    return dict(plan.planned)


def _require_variants(plan: TrialPlan) -> None:
    """Refuse variants that the source cannot compare."""
    if CONTROL not in plan.planned:
        raise UsageError(f"shares should have one of {CONTROL!r}, with which the others are compared")
    if len(plan.treatments) > 1 and plan.source != "sessions":
        raise UsageError(
            f"the source {plan.source!r} compares {CONTROL!r} with one treatment, and not "
            f"{', '.join(plan.treatments)}: several need the source 'sessions', or a feature and a trial each"
        )


def _require_measures(plan: TrialPlan) -> None:
    """Refuse measures that do not exist: nobody could measure them, and the plan cannot be changed later."""
    if plan.source == "interleaving" and plan.measure != CHOICES:
        raise UsageError(
            f"interleaved lists measure what people choose, and not {plan.measure}: the measure is {CHOICES!r}"
        )
    deciding = (plan.measure,) if plan.source in ("judgments", "sessions") else ()  # otherwise a name for a choice
    if plan.source != "sessions":
        for name in filter(is_behavioural, (*deciding, *plan.guardrails)):
            raise UsageError(f"{name} compares sessions that saw either system: it needs the source 'sessions'")
    for name in (*deciding, *plan.guardrails, *filter(None, [plan.must_show, plan.corpus_measure])):
        if not is_behavioural(name) or name == plan.corpus_measure:
            _require_measure(name, BEHAVIOUR if plan.source == "sessions" and name != plan.corpus_measure else ())


def _require_measure(name: str, others: tuple[str, ...]) -> None:
    """Refuse what is no measure by judgments; ``others`` are measures that may have been meant."""
    try:
        Measure.parse(name)
    except MeasureError:
        if hint := did_you_mean(name, others):
            raise MeasureError(f"unknown measure {name!r}{hint}") from None
        raise


def record_batch(path: str | os.PathLike[str], feature: str, batch: str, seen: Observations) -> bool:
    """Add what was measured to a running trial; return False if the batch was added before, and change nothing then.

    ``batch`` is an id that the writer gives to some sessions, so that a batch that is sent again counts once. Nothing
    checks it against a log, and the status of the trial says so.
    """
    with open_store(path, write=True, make=False) as store, store.transaction():
        trial = find_trial(store, feature, running=True)
        _require_planned(trial.plan, seen)
        if not is_text(batch):
            raise UsageError("the batch has no name; give each its own, so that one that is sent again counts once")
        if batch.startswith(f"{LOG}:"):
            raise UsageError(f"batch {batch!r}: ids that begin with '{LOG}:' are those of what comes from a log")
        now = time.time()
        return store.trials.add_batch(trial.key, batch, now, FILE, seen.series(int(now // 3600)))


def look_at_trial(path: str | os.PathLike[str], feature: str) -> TrialStatus:
    """Return what is known about the latest trial of a feature. Looking is free, and counted."""
    with open_store(path, write=True, make=False) as store, store.transaction():
        return look(store, find_trial(store, feature))


def decide_trial(
    path: str | os.PathLike[str],
    feature: str,
    *,
    author: str,
    reason: str = "the evidence is enough",
    number: int | None = None,
    expected: str | None = None,
) -> TrialOutcome:
    """Carry out what the evidence allows; the transition is None if the trial goes on.

    Who has looked at a trial names its ``number``, and as ``expected`` what the evidence allowed then: if another trial
    is the latest by now, or something else is allowed, nothing is done. The trial and the feature's flag change
    together or not at all: a treatment that graduates is for everybody, a harmful one is switched off. Of two that
    decide at once one does, and the other is told that the trial is over.
    """
    with open_store(path, write=True, make=False) as store, store.transaction():
        trial = find_trial(store, feature, running=True, number=number)
        status = look(store, trial)
        decision = Decision(status.decision)
        if expected is not None and decision != expected:
            raise UsageError(f"the evidence allows {decision.value!r} by now, and not {expected!r}; look again")
        if decision is Decision.CONTINUE:
            return TrialOutcome(status=status, transition=None, exit_code=4)
        after, changes = _MOVES[decision]
        why = f"{decision.value}: {status.reason}; {reason}"
        if changes and store.flag(feature) is not None:
            if decision is Decision.GRADUATE and status.treatment:
                changes = changes | _choose_variant(store, feature, status.treatment)
            change_flag_in(store, feature, changes, author=author, reason=why)
        elif changes:
            why += "; it has no flag, so that nobody gets anything else"
        done = _move(store, trial, after, author, why, status)
        now = msgspec.structs.replace(status, status=after, version=done.version)
        return TrialOutcome(status=now, transition=done, exit_code=_EXIT_CODES[after])


def _choose_variant(store: Store, feature: str, treatment: str) -> dict[str, Any]:
    """Return the changes of a flag by which everybody gets one of its variants; no override names another one."""
    flag, _ = collect_flags(store)[feature]
    kept = {unit: name for unit, name in flag.overrides.items() if name in (CONTROL, treatment)}
    return {"variants": {treatment: 1}, "overrides": kept}


def stop_trial(
    path: str | os.PathLike[str], feature: str, *, author: str, reason: str, number: int | None = None
) -> TrialTransition:
    """Reject a trial that is running or paused, whatever the evidence. The flag stays as it is."""
    with open_store(path, write=True, make=False) as store, store.transaction():
        trial = find_trial(store, feature, number=number)
        if trial.status in OVER:
            raise UsageError(f"trial {trial.number} of {feature!r} is {trial.status} already")
        return _move(store, trial, "rejected", author, reason, look(store, trial))


def reopen_trial(
    path: str | os.PathLike[str], feature: str, *, author: str, reason: str, number: int | None = None
) -> TrialTransition:
    """Let the latest trial of a feature run again, with all that was measured. The flag stays as it is."""
    with open_store(path, write=True, make=False) as store, store.transaction():
        trial = find_trial(store, feature, number=number)
        if trial.status == "running":
            raise UsageError(f"trial {trial.number} of {feature!r} is running")
        return _move(store, trial, "running", author, reason, None)


def find_trial(store: Store, feature: str, *, running: bool = False, number: int | None = None) -> Trial:
    """Return the latest trial of a feature; refuse one that has another number, or should be running and is not."""
    row = store.trials.latest(feature)
    if row is None:
        features = {name for _, name, *_ in store.trials.all()}
        raise InputError(f"no trial of {feature!r}{did_you_mean(feature, features)}", source=store.place)
    trial = to_trial(row, store)
    if number is not None and trial.number != number:
        raise UsageError(f"the latest trial of {feature!r} is {trial.number}, and not {number}; look again")
    if running and trial.status != "running":
        raise UsageError(f"trial {trial.number} of {feature!r} is {trial.status}, and not running")
    return trial


def _require_planned(plan: TrialPlan, seen: Observations) -> None:
    """Raise if something was measured that the plan does not know: a mistyped name would count as not measured."""
    planned = {plan.label(measure, name) for measure in plan.compared for name in plan.treatments}
    variants = set(plan.planned)
    counts = (("measure", seen.differences, planned), ("variant", seen.units, variants))
    for what, names, known in (*counts, ("variant", seen.latencies, variants | {CONTROL})):
        for name in sorted(set(names) - known):
            raise UsageError(f"{what} {name!r} is not in the plan of the trial{did_you_mean(name, known)}")
    most = max((count for _, _, _, count in seen.series(0)), default=0)
    if most > _LARGEST_COUNT:
        raise UsageError(f"a batch of {most:,} of one kind is too large; record batches of up to {_LARGEST_COUNT:,}")


def to_trial(row: Row, store: Store) -> Trial:
    """Return the trial of a row."""
    key, feature, number, status, settings, version, looks, _, started, *_ = row
    try:
        plan = decode_plan(settings)
    except (msgspec.MsgspecError, UsageError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"the plan of a trial cannot be read: {error}", source=store.place) from None
    return Trial(key, feature, number, status, plan, version, looks, started)


def look(store: Store, trial: Trial) -> TrialStatus:
    """Return what is known, and write down that somebody looked."""
    store.trials.count_look(trial.key)
    status = describe(store, trial, looks=trial.looks + 1)
    (deciding, *_) = status.measures
    store.trials.set_samples(trial.key, status.samples, deciding.log_better, time.time())
    return status


def describe(store: Store, trial: Trial, looks: int | None = None) -> TrialStatus:
    """Return what is known about a trial, without a look being counted."""
    series = store.trials.values(trial.key)
    seen = Observations.from_series(series)
    logs = read_positions(store, trial.key)
    used = LogUse(
        over=sum(own.over for own in logs.values()),
        late=sum(own.late for own in logs.values()),
        unreadable=sum(own.unreadable for own in logs.values()),
        skew=max((own.skew for own in logs.values()), default=0.0),
    )
    version, own = _find_deals(store, trial)
    deals = (*own, *(deal for position in logs.values() for deal in position.deals))
    corpora = _find_corpora(store, trial.plan)
    judged = judge_variants(trial.plan, seen, corpora, used if logs else None, deals if version or deals else None)
    samples = sum(seen.tally(trial.plan.label(trial.plan.measure, name)).n for name in trial.plan.treatments)
    return TrialStatus(
        feature=trial.feature,
        number=trial.number,
        status=trial.status,
        version=trial.version,
        looks=trial.looks if looks is None else looks,
        decision=judged.decision.value,
        reason=judged.reason,
        samples=samples,
        not_from_log=samples - sum(series.get(ORIGIN + LOG, {}).values()),
        logs=tuple(describe_position(name, own) for name, own in logs.items()),
        measures=judged.measures,
        conditions=judged.conditions,
        units=dict(seen.units),
        read_out=judged.read_out,
        flag_version=version,
        treatment=judged.treatment,
    )


def _find_corpora(store: Store, plan: TrialPlan) -> dict[str, CorpusRun | None]:
    """Return the run on the golden set that was recorded last for each treatment.

    That of the only one is recorded for the feature, that of one of several for ``feature:treatment``.
    """
    names = {name: f"{plan.feature}:{name}" if len(plan.treatments) > 1 else plan.feature for name in plan.treatments}
    rows = {name: store.trials.latest_run_of(key, plan.on_golden_set) for name, key in names.items()}
    return {name: None if row is None else CorpusRun(*row) for name, row in rows.items()}


def _find_deals(store: Store, trial: Trial) -> tuple[int, tuple[str, ...]]:
    """Return the version of the feature's flag, and the changes since the trial started that dealt sessions anew.

    Of a trial that is over, what came after its last look does not count: that was the decision itself.
    """
    flag = store.flag(trial.feature)
    version = 0 if flag is None else int(flag[1])
    if trial.status in OVER:
        (*_, last) = (to_transition(trial, row) for row in store.trials.transitions(trial.key))
        version = 0 if last.evidence is None else last.evidence.flag_version
    if trial.plan.flag_version is None:  # a trial that an older karat started
        return version, list_deals_since(store, trial.feature, trial.started) if trial.status not in OVER else ()
    return version, list_deals(store, trial.feature, trial.plan.flag_version, version)


def describe_position(name: str, position: LogPosition) -> TrialLog:
    """Return what a trial has taken from a log, as a document."""
    waiting = {variant for own in position.waiting.values() for variant in own}
    return TrialLog(
        log=name,
        until=format_time(position.until),
        over=position.over,
        late=position.late,
        mixed=position.mixed,
        before=position.before,
        unreadable=position.unreadable,
        repeated=position.repeated,
        waiting={
            variant: max(len(own.get(variant, ())) for own in position.waiting.values()) for variant in sorted(waiting)
        },
    )


def _move(
    store: Store, trial: Trial, after: str, author: str, reason: str, evidence: TrialStatus | None
) -> TrialTransition:
    """Move a trial to another status, and write down who, why and on what evidence."""
    if not is_text(author) or not is_text(reason):
        raise UsageError("a decision on a trial needs an author and a reason")
    now = time.time()
    text = msgspec.json.encode(evidence).decode()
    row = (trial.version + 1, now, author, reason, trial.status, after, text)
    if not store.trials.move(trial.key, row, ended=now if after in OVER else None):
        raise AssertionError(f"trial {trial.key} changed inside a transaction")
    return to_transition(trial, row)


def to_transition(trial: Trial, row: Row) -> TrialTransition:
    """Return the decision of a row."""
    version, moment, author, reason, before, after, evidence = row
    return TrialTransition(
        feature=trial.feature,
        number=trial.number,
        version=version,
        time=format_time(moment),
        author=author,
        reason=reason,
        before=before,
        after=after,
        evidence=msgspec.json.decode(evidence, type=TrialStatus | None),
    )
