"""What a trial takes from a log: exactly once, whoever reads it, and however often."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import time

import msgspec

from karat.online._times import format_time
from karat.online.trials._observations import Observations
from karat.online.trials._plan import TrialPlan
from karat.online.trials._position import LOG, ORIGIN, LogPosition, decode_position
from karat.online.trials._sessions import SessionMark, mark_session
from karat.online.trials._trial import find_trial
from karat.store import Store, open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTask:
    """What is to be read: the trial, and how far its log was read."""

    plan: TrialPlan
    started: float
    trial: int
    version: int
    """Of the position; 0 if the log was never read."""
    position: LogPosition
    name: str
    """The name of the trial that no other trial has, in any store."""
    store: str
    """The id of the store of the trial."""

    @property
    def since(self) -> str:
        """When the trial started, in UTC."""
        return format_time(self.started)


def open_task(path: str | os.PathLike[str], feature: str, log: str) -> LogTask:
    """Return what a running trial has to read of a log, which is named by the id of its store."""
    with open_store(path) as store:
        trial = find_trial(store, feature, running=True)
        version, position = _find_position(store, trial.key, log, trial.started)
        return LogTask(
            plan=trial.plan,
            started=trial.started,
            trial=trial.key,
            version=version,
            position=position,
            name=name_trial(store, trial.key),
            store=store.id,
        )


def name_trial(store: Store, trial: int) -> str:
    """Return a name of a trial that no other trial has, in any store."""
    return f"{store.id}:{trial}"


def find_measured(path: str | os.PathLike[str], task: LogTask, marks: Iterable[SessionMark]) -> dict[SessionMark, bool]:
    """Return those of some sessions that a trial has measured, each with whether it was by the same records."""
    known = {}
    with open_store(path) as store:
        for mark in marks:
            records = store.trials.find_session(task.trial, mark.session)
            if records is not None:
                known[mark] = records == mark.records
    return known


def forget_in_trials(store: Store, sessions: Iterable[str]) -> None:
    """Delete what the trials of a store know sessions by; their counts, which name nobody, stay."""
    for session in sessions:
        for trial, *_ in store.trials.all():
            store.trials.forget_session(trial, mark_session(name_trial(store, trial), session, ()).session)


class _Overtaken(Exception):
    """Somebody else has read the log, or measured the same session in another one."""


def add_from_log(
    path: str | os.PathLike[str],
    feature: str,
    log: str,
    task: LogTask,
    position: LogPosition,
    seen: Mapping[int, Observations],
    marks: Sequence[SessionMark] = (),
) -> bool:
    """Add what was measured, by hour, and how far the log was read; return False if somebody else did so meanwhile.

    ``marks`` are those of the sessions that were measured: one that was measured in another log is no new one.
    """
    with suppress(_Overtaken), open_store(path, write=True, make=False) as store, store.transaction():
        trial = find_trial(store, feature, running=True)
        now = time()
        state = msgspec.json.encode(position).decode()
        if trial.key != task.trial or not store.trials.set_log(trial.key, log, task.version, state, now):
            raise _Overtaken
        if not store.trials.add_sessions(trial.key, marks):
            raise _Overtaken
        counts = list(_list_counts(task.plan, seen))
        if counts:
            store.trials.add_batch(trial.key, f"{LOG}:{log}:{task.version + 1}", now, LOG, counts)
        return True
    return False


def _list_counts(plan: TrialPlan, seen: Mapping[int, Observations]) -> Iterable[tuple[str, int, float, int]]:
    for hour, own in seen.items():
        yield from own.series(hour)
        labels = (plan.label(plan.measure, name) for name in plan.treatments)
        yield ORIGIN + LOG, 0, 0.0, sum(own.tally(label).n for label in labels)


def _find_position(store: Store, trial: int, log: str, started: float) -> tuple[int, LogPosition]:
    row = store.trials.logs(trial).get(log)
    return (0, LogPosition(until=started)) if row is None else (int(row[0]), decode_position(row[1], store))
