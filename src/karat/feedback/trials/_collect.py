"""A trial measured from a log: every session that is over, once, whoever reads it and however often."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import Any

from karat.core import GoldenSet, SystemFailed, UsageError
from karat.feedback.trials._blocks import find_skew
from karat.feedback.trials._evidence import (
    Evidence,
    Unreadable,
    is_assigned,
    is_interleaved,
    read_arms,
    read_shadows,
    read_teams,
)
from karat.feedback.trials._measuring import Measuring
from karat.feedback.trials._windows import Arrived, Fate, Window
from karat.online import ingest
from karat.online.flags import CONTROL
from karat.online.trials import (
    LogPosition,
    LogSessions,
    LogTask,
    SessionMark,
    TrialPlan,
    add_from_log,
    describe_position,
    find_measured,
    list_deals_since,
    mark_session,
    open_task,
)
from karat.schema.trials import TrialCollected
from karat.store import Keys, Store, open_store

_ATTEMPTS = 20
"""How often somebody else may be faster."""


def collect_trial(
    path: str | os.PathLike[str],
    feature: str,
    *,
    log: str | os.PathLike[str] | None = None,
    golden: GoldenSet | None = None,
    now: float | None = None,
) -> TrialCollected:
    """Measure a running trial in the sessions of a log that are over since the log was last read.

    ``log`` is the store of the log, by default that of the trial; any number of logs add up. ``golden`` has the
    judgments, for measures that need them. Whatever is in the journal of the log is brought into its store first.
    """
    source = Path(path if log is None else log)
    ingest(source, wait=True)
    for _ in range(_ATTEMPTS):
        with open_store(source) as store:
            task = open_task(path, feature, store.id)
            reading = _Reading(path, store, task, golden, time() if now is None else now)
            position, measuring = reading.run()
            name = store.id
        if add_from_log(path, feature, name, task, position, measuring.observations(), reading.marks):
            return TrialCollected(
                feature=feature,
                log=name,
                since=task.since,
                until=describe_position(name, position).until,
                sessions=position.over - task.position.over,
                differences=measuring.counts(),
                open=reading.fates[Fate.OPEN],
                late=position.late - task.position.late,
                repeated=position.repeated - task.position.repeated,
                unreadable=position.unreadable - task.position.unreadable,
            )
    raise SystemFailed(f"{path}: others read the same log for the same trial all the time; try again")


@dataclass(slots=True)
class _Reading:
    """One reading of a log."""

    path: str | os.PathLike[str]
    """The store of the trial."""
    store: Store
    """That of the log."""
    task: LogTask
    golden: GoldenSet | None
    now: float
    fates: Counter[Fate] = field(default_factory=Counter)
    unreadable: int = 0
    repeated: int = 0
    marks: list[SessionMark] = field(default_factory=list)
    """Those of the sessions that are measured."""

    def run(self) -> tuple[LogPosition, Measuring]:
        """Return how far the log is read now, and what its sessions say."""
        plan, before = self.task.plan, self.task.position
        log = LogSessions(self.store)
        keys = log.last_keys()
        window = Window(since=self.task.started, before=before.until, until=max(self.now, before.until), idle=plan.idle)
        measuring = Measuring(plan, self.golden, before.waiting)
        evidence = self._leave_out(self._read(log, keys, window, measuring.measures))
        for own in evidence:
            measuring.add(own)
        measuring.score()
        units, skew = find_skew((own.variant for own in evidence if own.variant), plan.planned, before.units)
        position = LogPosition(
            until=window.until,
            keys=keys,
            waiting=measuring.waiting,
            over=before.over + len(evidence),
            late=before.late + self.fates[Fate.LATE],
            mixed=before.mixed + sum(own.mixed for own in evidence),
            before=before.before + self.fates[Fate.BEFORE],
            unreadable=before.unreadable + self.unreadable,
            units=dict(units),
            skew=max(before.skew, skew),
            repeated=before.repeated + self.repeated,
            deals=self._list_deals(),
        )
        return position, measuring

    def _list_deals(self) -> tuple[str, ...]:
        """Return the changes of the feature's flag, if the log has another one than the trial."""
        if self.store.id == self.task.store:
            return ()
        return list_deals_since(self.store, self.task.plan.feature, self.task.started)

    def _leave_out(self, sessions: Iterable[tuple[SessionMark, Evidence]]) -> list[Evidence]:
        """Return what sessions say in the order in which they ended, without those that were measured in another log.

        One of which both logs have the same records counts once. If they have different ones, it went on elsewhere
        after it was measured.
        """
        listed = sorted(sessions, key=lambda own: own[1].end)
        known = find_measured(self.path, self.task, (mark for mark, _ in listed))
        self.marks = [mark for mark, _ in listed if mark not in known]
        self.repeated = sum(known.values())
        self.fates[Fate.LATE] += len(known) - self.repeated
        return [evidence for mark, evidence in listed if mark not in known]

    def _read(
        self, log: LogSessions, keys: Keys, window: Window, measures: Sequence[str]
    ) -> Iterator[tuple[SessionMark, Evidence]]:
        """Yield what each session says that is over and was not measured before, with its mark."""
        plan, old = self.task.plan, self.task.position.keys
        read, counts = _choose(plan, measures)
        span = window.since, window.before - window.idle, window.until - window.idle
        for session in log.find(old, span, plan.feature if plan.source == "judgments" else ""):
            records = _load(log, plan, session, old, keys)
            if not any(counts(own.record) for own in records):
                continue
            fate, first = window.judge(records, counts)
            if fate is not Fate.BEFORE or all(own.new for own in records):  # counted once
                self.fates[fate] += 1
            if fate is Fate.OVER and any(counts(own.record) for own in first):
                try:
                    evidence = read([own.record for own in first])
                except Unreadable:
                    self.unreadable += 1
                    continue
                yield mark_session(self.task.name, session, (own.record.id for own in first)), evidence


def _choose(
    plan: TrialPlan, measures: Sequence[str]
) -> tuple[Callable[[Sequence[Any]], Evidence], Callable[[object], bool]]:
    """Return what reads a session, and what tells whether a record of it counts."""
    control, treatment = CONTROL, plan.treatments[0]
    if plan.source == "sessions":
        return lambda records: read_arms(records, plan, measures), lambda record: is_assigned(record, plan)
    if plan.source == "interleaving":
        return (
            lambda records: read_teams(records, plan, control, treatment),
            lambda record: is_interleaved(record, plan),
        )
    if plan.source == "judgments":
        return lambda records: read_shadows(records, control, treatment), lambda _: True
    raise UsageError(f"a trial by {plan.source} on the control's list is unfair to what was not in it: nothing is "
                     "taken from a log; start one with the source 'interleaving' or 'sessions'")  # fmt: skip


def _load(log: LogSessions, plan: TrialPlan, session: str, old: Keys, last: Keys) -> list[Arrived[Any]]:
    """Return the records of a session that had arrived when the reading began, in the order of time."""
    if plan.source == "judgments":
        return list(_arrive(log.shadow_runs(plan.feature, session), old[2], last[2]))
    queries = _arrive(log.queries(session), old[0], last[0])
    events = _arrive(log.events(session), old[1], last[1])
    return sorted((*queries, *events), key=lambda own: (own.time, own.record.id))


def _arrive(rows: Iterable[tuple[int, Any]], old: int, last: int) -> Iterator[Arrived[Any]]:
    for key, record in rows:
        if key <= last:
            yield Arrived(record.time, key > old, record)
