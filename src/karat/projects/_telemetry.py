"""Runs of a project as telemetry, where an OTLP endpoint is configured."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from karat.core import Trace
from karat.evaluation import Evaluation
from karat.projects._gating import GateResult
from karat.projects._project import Project
from karat.telemetry import AskedQuery, FinishedRun, Regression, find_destination, make_seed

if TYPE_CHECKING:
    from karat.chat import Call
    from karat.telemetry import Sending


def collect_calls(project: Project) -> list[Call] | None:
    """Return an empty list for the calls of a model by which a run is answered; None if no collector is configured."""
    return None if find_destination(project.config.telemetry) is None else []


def send_telemetry(
    project: Project, outcome: Evaluation | GateResult, run_id: str, calls: Sequence[Call] | None = None
) -> Sending | None:
    """Begin to send a finished run to the collector that is configured, and return at once; None if none is.

    ``run_id`` is the name of the run's file, without its ending, and ``calls`` are those by which the built-in pipeline
    has answered. The caller finishes the sending at its own end.
    """
    destination = find_destination(project.config.telemetry)
    if destination is None:
        return None
    from karat.telemetry import send_run

    finished = describe_finished(project, outcome, run_id)
    if calls:
        from karat.projects._calls import describe_call

        described = (describe_call(call, content=destination.content) for call in calls)
        finished = replace(finished, calls=tuple(described))
    return send_run(finished, destination)


def describe_finished(project: Project, outcome: Evaluation | GateResult, run_id: str) -> FinishedRun:
    """Return a scored run as telemetry sees it, without calls of a model."""
    evaluation = outcome if isinstance(outcome, Evaluation) else outcome.evaluation
    provenance = evaluation.provenance
    return FinishedRun(
        id=run_id,
        system=provenance.name,
        golden=project.golden.name,
        k=int(provenance.settings.get("k", 0)),
        begun=_parse_time(provenance.origin.begun),
        seed=make_seed(run_id, provenance.origin.begun),
        queries=tuple(_describe_queries(project, evaluation)),
        means={name: value for name, value in evaluation.means.items() if math.isfinite(value)},
        regression=None if isinstance(outcome, Evaluation) else _describe_regression(outcome),
    )


def _parse_time(begun: str) -> float:
    """Return when a run began; now, if it does not say."""
    try:
        return datetime.fromisoformat(begun).astimezone(UTC).timestamp()
    except ValueError:
        return time.time()


def _describe_queries(project: Project, evaluation: Evaluation) -> Iterator[AskedQuery]:
    relevant = Counter[str]()
    for query, targets in project.golden.relevant_targets():
        relevant[query] += len(targets)
    rows = {query: row for row, query in enumerate(evaluation.scores.queries)}
    for trace in evaluation.traces:
        total = trace.timings.get("total")
        is_first = not trace.paraphrase and not trace.repeat and trace.query in rows
        scores, missing = _read_scores(evaluation, rows[trace.query]) if is_first else ({}, {})
        yield AskedQuery(
            query=trace.query,
            text=trace.text,
            relevant=relevant[trace.query],
            seconds=None if total is None else total / 1000,
            returned=len(trace.listed),
            error=trace.error,
            scores=scores,
            missing=missing,
            documents=_list_documents(trace),
            paraphrase=trace.paraphrase,
            repeat=trace.repeat,
            session=trace.context.session,
            envelope=trace.envelope,
        )


def _list_documents(trace: Trace) -> tuple[tuple[str, float], ...]:
    return tuple((hit.id, hit.score) for hit in trace.hits)


def _read_scores(evaluation: Evaluation, row: int) -> tuple[Mapping[str, float], Mapping[str, str]]:
    """Return the values of a query, over all its wordings and repeats, and why others are missing."""
    table = evaluation.scores
    scores, missing = {}, {}
    for column, measure in enumerate(table.measures):
        value = float(table.values[row, column])
        if math.isfinite(value):
            scores[measure] = value
        else:
            missing[measure] = table.reasons[int(table.codes[row, column]) - 1] if table.reasons else "no value"
    return scores, missing


def _describe_regression(result: GateResult) -> Regression | None:
    if result.baseline is None:
        return None
    before, now = result.baseline.evaluation.means, result.evaluation.means
    shared = [name for name in now if name in before]
    deltas = {name: now[name] - before[name] for name in shared}
    return Regression(
        outcome=str(result.decision.outcome),
        baseline=result.baseline.evaluation.name,
        deltas={name: value for name, value in deltas.items() if math.isfinite(value)},
    )
