"""Runs of the offline half in the store: each decision of the gate, with a row for each value."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast, get_args

from karat.core import InputError, UsageError
from karat.reports import read_document
from karat.schema import DecisionDocument, MeasureRow, OnlineRecorded, to_json, to_plain
from karat.store import Row, Store, open_store

RunKind = Literal["full", "shadow", "regression", "ab_test"]
KINDS: tuple[str, ...] = get_args(RunKind)
_NO_VALUE = "no query has a value"


def record_run(
    path: str | os.PathLike[str],
    decision: DecisionDocument,
    *,
    kind: RunKind = "regression",
    feature: str = "",
    control: str = "",
    now: float | None = None,
) -> OnlineRecorded:
    """Record a run and what the gate decided; the same decision a second time changes nothing.

    ``feature`` is what was tried, and ``control`` the id of the run that it was compared with.
    """
    total = decision.latency.stages.get("total")
    row = (
        kind,
        feature,
        time.time() if now is None else now,
        decision.golden.fingerprint or "",
        decision.run.fingerprint,
        decision.run.queries,
        None if total is None else total.mean,
        control,
        decision.verdict.outcome,
        to_json(decision),
    )
    with open_store(path, write=True) as store, store.transaction():
        name = _name(store, decision, feature)
        new = store.add_run((name, *row), list(_values(name, decision)))
    return OnlineRecorded(run=name, new=new)


def record_report(
    path: str | os.PathLike[str], report: str, *, kind: str = "regression", feature: str = "", control: str = ""
) -> OnlineRecorded:
    """Record the decision in a file that ``karat check --json`` or ``karat gate --json`` wrote."""
    decision = read_document(report)
    if decision is None:
        raise InputError("is not a decision", source=report, hint="'karat gate RUN --json' prints one")
    if kind not in KINDS:
        raise UsageError(f"unknown kind of run {kind!r}; known: {', '.join(KINDS)}")
    return record_run(path, decision, kind=cast("RunKind", kind), feature=feature, control=control)


def _name(store: Store, decision: DecisionDocument, feature: str) -> str:
    """Return the id of the run, with more behind it if that stands for another decision or feature already."""
    digest = _digest(to_plain(decision))
    names = [decision.run.id] if decision.run.id else []
    names += [f"{decision.run.id or decision.run.name}-{digest}", f"{decision.run.name}-{digest}-{feature}"]
    for name in names[:-1]:
        known = store.run_document(name)
        if known is None or (feature in ("", known[1]) and _digest(json.loads(known[0])) == digest):
            return name
    return names[-1]


def _digest(decision: Mapping[str, Any]) -> str:
    """Return what tells two decisions apart; the day of a report is not part of what was measured."""
    plain = {name: value for name, value in decision.items() if name != "created"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:12]


def _values(run: str, decision: DecisionDocument) -> Iterator[Row]:
    """Yield the values of a run: the means of all queries, and those of each segment."""
    for measure in decision.measures:
        yield _value(run, measure)
    for segment in decision.segments:
        name = f"{segment.field}={segment.value}"
        for measure_name, mean in segment.means.items():
            missing = _NO_VALUE if mean is None else ""
            before = None if segment.baseline is None else segment.baseline.get(measure_name)
            yield (run, measure_name, name, mean, None, None, segment.queries, missing, before, None, None, None)


def _value(run: str, measure: MeasureRow) -> Row:
    low, high = measure.interval or (None, None)
    compared = measure.comparison
    delta: tuple[Any, ...] = (None, None, None)
    if compared is not None:
        delta = (compared.difference, compared.p_corrected, compared.significant)
    missing = _NO_VALUE if measure.mean is None else ""
    return (run, measure.name, "", measure.mean, low, high, measure.n, missing, measure.baseline, *delta)
