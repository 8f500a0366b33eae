"""Trials to look at: all of them, one over time, and the decisions on it."""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from dataclasses import replace

from karat.core import InputError
from karat.online.trials._observations import name_series
from karat.online.trials._points import trace_trial
from karat.online.trials._trial import Trial, describe, find_trial, look, to_transition, to_trial
from karat.schema.trials import TrialList, TrialPoint, TrialReport, TrialStatus, TrialTransition
from karat.store import Store, open_store


def list_trials(path: str | os.PathLike[str]) -> TrialList:
    """Return all trials, the oldest first. They are not looked at: nothing is counted."""
    with open_store(path) as store:
        trials = tuple(describe(store, to_trial(row, store)) for row in store.trials.all())
        return TrialList(store=str(path), trials=trials)


def count_trials(path: str | os.PathLike[str]) -> dict[str, int]:
    """Return how many trials each feature has had."""
    with open_store(path) as store:
        return dict(Counter(feature for _, feature, *_ in store.trials.all()))


def page_trials(
    path: str | os.PathLike[str], *, before: tuple[str, int] | None = None, most: int = 50
) -> tuple[TrialList, int]:
    """Return up to ``most`` trials, the latest first, and how many there are in all; nothing is counted as a look.

    They go on after ``before``, the feature and the number of a trial; one that is not there begins at the latest.
    """
    with open_store(path) as store:
        rows = store.trials.all()[::-1]
        start = next((place + 1 for place, row in enumerate(rows) if (row[1], row[2]) == before), 0)
        trials = tuple(describe(store, to_trial(row, store)) for row in rows[start : start + most])
        return TrialList(store=str(path), trials=trials), len(rows)


def report_trial(path: str | os.PathLike[str], feature: str) -> TrialReport:
    """Return the latest trial of a feature over time, for a picture. It is a look, and counted."""
    with open_store(path, write=True, make=False) as store, store.transaction():
        trial = find_trial(store, feature)
        return _report(store, trial, look(store, trial))


def show_trial(path: str | os.PathLike[str], feature: str, number: int | None = None) -> TrialReport:
    """Return a trial of a feature over time, by default the latest. Nothing is written, and no look is counted."""
    with open_store(path) as store:
        trial = find_trial(store, feature) if number is None else _find_numbered(store, feature, number)
        return _report(store, trial, describe(store, trial))


def accepts_feature(path: str | os.PathLike[str], feature: str) -> bool:
    """Return whether the latest trial of a feature accepts it, but for what a gate says of the golden set.

    Its evidence is enough, and every condition is met but ``corpus``, of any of its treatments; a trial that a person
    has stopped accepts nothing. Nothing is written, and no look is counted.
    """
    with open_store(path) as store:
        status = describe(store, find_trial(store, feature))
    if status.status not in ("running", "graduated") or status.decision not in ("continue", "graduate"):
        return False
    met: dict[str, bool] = {}
    for condition in status.conditions:
        treatment, _, name = condition.name.rpartition(": ")
        met[treatment] = met.get(treatment, True) and (condition.met or name == "corpus")
    shared = met.pop("", True)
    return shared and (any(met.values()) or not met)


def read_transitions(path: str | os.PathLike[str], feature: str) -> tuple[TrialTransition, ...]:
    """Return the decisions on the latest trial of a feature, the oldest first, each with its evidence."""
    with open_store(path) as store:
        return _list_transitions(store, find_trial(store, feature))


def _find_numbered(store: Store, feature: str, number: int) -> Trial:
    rows = {row[2]: row for row in store.trials.all() if row[1] == feature}
    if not rows:
        find_trial(store, feature)  # which names a similar one
    if number not in rows:
        raise InputError(f"no trial {number} of {feature!r}; the latest is {max(rows)}", source=store.place)
    return to_trial(rows[number], store)


def _report(store: Store, trial: Trial, status: TrialStatus) -> TrialReport:
    measure = trial.plan.label(trial.plan.measure, status.treatment)
    rule = replace(trial.plan.rule, alpha=trial.plan.rule.alpha / len(trial.plan.treatments))

    def trace(name: str) -> tuple[TrialPoint, ...]:
        return trace_trial(store.trials.hourly(trial.key, name_series(name)), rule, now=time.time())

    return TrialReport(
        status=status,
        measure=measure,
        effect=rule.effect,
        enough=-math.log(rule.alpha),
        futile=-math.log(rule.beta),
        points=trace(measure),
        transitions=_list_transitions(store, trial),
        guardrails={name: trace(trial.plan.label(name, status.treatment)) for name in trial.plan.guardrails},
    )


def _list_transitions(store: Store, trial: Trial) -> tuple[TrialTransition, ...]:
    return tuple(to_transition(trial, row) for row in store.trials.transitions(trial.key))
