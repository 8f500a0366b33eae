"""The decision document of a run: everything that the decision rests on; every report is rendered from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import compress
from pathlib import PurePath
from typing import Literal

import numpy as np
from msgspec import UNSET, structs

from karat.core import Floats, GoldenSet, Trace, TraceTable
from karat.evaluation import Evaluation, find_bounds, find_floor, list_changes
from karat.gate import (
    Check,
    Comparison,
    compare,
    correct_measures,
    describe_moves,
    find_movers,
    lower_is_better,
)
from karat.projects._failure_causes import add_causes
from karat.projects._gating import GateResult
from karat.projects._query_rows import find_passages, query_rows, query_standings
from karat.projects._segment_rows import segment_rows
from karat.reports import OF_REFUSED, OF_UNANSWERABLE, add_conclusions, add_failures, query_limits
from karat.schema import (
    DECISION_FORMAT,
    BaselineFacts,
    CheckRow,
    DecisionDocument,
    GoldenFacts,
    GoldenReport,
    Histogram,
    LatencyFacts,
    MeasureBounds,
    MeasureRow,
    MoverRow,
    RunFacts,
    StageTimes,
    Verdict,
    VerdictFailure,
    from_plain,
)
from karat.stats import Outcome

_BINS = 24
_TIE = 1e-9
_NAMED = 20  # queries that changed, of each kind; a terminal shows fewer


def report_document(
    result: GateResult,
    *,
    created: str | None = None,
    file: str = "",
    lint: GoldenReport | None = None,
    brief: bool = False,
    described: int | None = None,
) -> DecisionDocument:
    """Return the decision on a run, with everything that a report may show of it.

    Two identical runs have the same document, apart from ``created``, the day. ``file`` is the name of the run's
    file, after which its reports are named. ``lint`` is what the linter reports about the golden set, as plain data.
    With ``brief`` it has what a terminal shows: the queries that changed most or are below a limit, which queries
    failed, and measures without their scores, intervals and comparisons. ``described`` is of how many queries that
    changed, at either end, it says how their documents moved; by default of all.
    """
    candidate, golden, decision = result.evaluation, result.project.golden, result.decision
    before = result.baseline.evaluation if result.baseline else None
    by_labels = correct_measures(decision.candidate, decision.baseline)
    comparisons, movers = {} if brief else _compare(candidate, before), _movers(result, _NAMED if brief else described)
    bounds = {} if brief else find_bounds(candidate, golden, _find_checked(decision.checks))
    document = DecisionDocument(
        karat="report",
        kind="eval.retrieval_report",
        format=DECISION_FORMAT,
        created=created or f"{datetime.now(tz=UTC):%Y-%m-%d}",
        verdict=_verdict(result),
        run=_run(candidate, file),
        golden=_golden(candidate, golden),
        baseline=_baseline(result),
        measures=tuple(
            structs.replace(row, by_labels=by_labels.get(row.name, UNSET))
            for row in (
                _name_measure(result, name)
                if brief
                else _measure(result, name, comparisons.get(name), bounds.get(name))
                for name in candidate.means
            )
        ),
        checks=tuple(map(check_row, decision.checks)),
        caveats=tuple(result.caveats),
        movers=movers,
        segments=() if brief else segment_rows(golden, candidate, before),
        latency=_latency(result, () if brief else candidate.traces),
        queries=query_rows(golden, candidate, before, _find_notable(result, movers) if brief else None),
        passages={} if brief else find_passages(golden, candidate.traces),
        failures=(),
        recommendations=(),
        lexical_floor=find_floor(candidate, golden),
        uncertainty=result.uncertainty or UNSET,
        lint=UNSET if lint is None else lint,
    )
    if not brief:
        return add_causes(add_conclusions(document), result)
    failing, telling = _find_failing(document, result), (*query_limits(document), *OF_UNANSWERABLE, OF_REFUSED)
    return add_failures(document, query_standings(golden, candidate, before, failing, telling))


def _find_failing(document: DecisionDocument, result: GateResult) -> set[str]:
    """Return the queries that failed, or that the baseline failed."""
    candidate, before = result.evaluation, result.baseline.evaluation if result.baseline else None
    failing = {*candidate.failures, *candidate.unfound, *candidate.false_answers, *candidate.refused}
    if before is not None:
        failing.update(before.missed, (query for query, value in before.values(OF_REFUSED).items() if value))
    failing.update(check.query for check in document.checks if check.query)
    for name, limit in (query_limits(document) | dict.fromkeys(OF_UNANSWERABLE, 1.0)).items():
        for evaluation in filter(None, (candidate, before)):
            if name in evaluation.scores.columns:
                queries, values = evaluation.scores.present(name)
                failing.update(compress(queries, (values < limit).tolist()))
    return failing


def _find_checked(checks: Iterable[Check]) -> list[str]:
    """Return the measures that rules look at over all queries: of others, no report shows the bounds."""
    return list(dict.fromkeys(check.metric for check in checks if check.where is None and not check.query))


def _find_notable(result: GateResult, movers: Sequence[MoverRow]) -> set[str]:
    """Return the queries that changed most, and those below a limit for single queries.

    Where something is inconclusive, the judgments that all queries that changed lack are counted.
    """
    unsure = any(check.outcome is Outcome.INCONCLUSIVE for check in result.decision.checks)
    notable = {mover.query for mover in (movers if unsure else (*movers[:_NAMED], *movers[-_NAMED:]))}
    for name, limit in result.decision.policy.list_below.items():
        notable.update(query for query, value in result.evaluation.values(name).items() if value < limit)
    return notable


def check_row(check: Check) -> CheckRow:
    """Return a check of the gate as the document holds it."""
    return from_plain(check.to_dict(), CheckRow)


def _verdict(result: GateResult) -> Verdict:
    decision, policy = result.decision, result.decision.policy
    return from_plain(
        {
            "outcome": decision.outcome.value,
            "exit_code": decision.exit_code,
            "passed": decision.exit_code == 0,
            "policy": policy.name,
            "extends": policy.extends,
            "changes": list(policy.changes),
            "on_inconclusive": policy.on_inconclusive,
            "list_below": dict(policy.list_below),
            "failures": [_failure(check) for check in decision.failures],
        },
        Verdict,
    )


def _failure(check: Check) -> VerdictFailure:
    """Return a failed check in the form of fit's reports: held against a threshold, or against the baseline."""
    if check.baseline is None:
        return VerdictFailure(metric=check.name, current=check.current, threshold=check.limit, message=check.reason)
    degradation = None
    if check.baseline and check.difference is not None:
        degradation = f"{abs(check.difference / check.baseline):.1%}"
    return VerdictFailure(
        metric=check.name,
        current=check.current,
        baseline=check.baseline,
        degradation=degradation or UNSET,
        message=check.reason,
    )


def _run(candidate: Evaluation, file: str) -> RunFacts:
    origin = candidate.provenance.origin.to_dict()
    origin.pop("begun", None)  # two identical runs have the same document
    return RunFacts(
        name=candidate.name,
        title=candidate.provenance.title,
        file=file or UNSET,
        id=PurePath(file).stem or UNSET,
        origin=origin or UNSET,
        fingerprint=candidate.provenance.fingerprint,
        system=dict(candidate.provenance.system),
        settings=dict(candidate.provenance.settings),
        versions=dict(candidate.provenance.versions),
        queries=len(candidate.queries),
        failed=len(candidate.failures),
        unfound=tuple(sorted(candidate.unfound - candidate.failures.keys() - candidate.unjudged)),
        false_answers=tuple(sorted(candidate.false_answers)) or UNSET,
        coverage=_number(candidate.coverage),
    )


def _golden(candidate: Evaluation, golden: GoldenSet) -> GoldenFacts:
    identity = candidate.provenance.golden
    facts = {key: str(identity[key]) for key in ("version", "fingerprint", "questions") if key in identity}
    return GoldenFacts(
        name=str(identity.get("name", "")),
        **facts,
        documents=len(golden.documents),
        queries=len(golden.queries),
        judgments=golden.judgment_count,
    )


def _baseline(result: GateResult) -> BaselineFacts | None:
    if result.baseline is None:
        return None
    candidate, before = result.evaluation, result.baseline.evaluation
    return BaselineFacts(
        name=before.name,
        title=before.provenance.title,
        fingerprint=before.provenance.fingerprint,
        recorded=result.baseline.recorded,
        forced=result.baseline.forced,
        changes=list_changes(candidate.provenance, before.provenance),
    )


def _movers(result: GateResult, named: int | None = None) -> tuple[MoverRow, ...]:
    """Return the queries that changed, with how their documents moved; of so many at each end if that is given."""
    if result.baseline is None:
        return ()
    candidate, before = result.evaluation, result.baseline.evaluation
    movers = find_movers(candidate, before, result.decision.policy.measures)
    hidden = range(0) if named is None else range(named, len(movers) - named)
    return tuple(
        MoverRow(
            query=mover.query,
            measure=mover.measure,
            baseline=mover.baseline,
            candidate=mover.candidate,
            moved=()
            if place in hidden
            else tuple(describe_moves(candidate.lists.get(mover.query, ()), before.lists.get(mover.query, ()))),
        )
        for place, mover in enumerate(movers)
    )


def _compare(candidate: Evaluation, before: Evaluation | None) -> dict[str, Comparison]:
    if before is None or not before.has_queries:
        return {}
    shared = [name for name in candidate.scores.measures if name in before.scores.measures]
    return {comparison.measure: comparison for comparison in compare(candidate, before, shared)}


def _name_measure(result: GateResult, name: str) -> MeasureRow:
    """Return a measure with its means only."""
    candidate, before = result.evaluation, result.baseline.evaluation if result.baseline else None
    checks = _find_checks(result, name)
    return MeasureRow(
        name=name,
        definition=candidate.scores.definitions.get(name, name),
        lower_is_better=lower_is_better(name),
        mean=_number(candidate.mean(name)),
        interval=None,
        n=candidate.scores.count(name) if name in candidate.scores.columns else 0,
        baseline=_number(before.mean(name) if before else math.nan),
        floor=_find_floor(checks),
        status=_status(checks, None),
        values=(),
    )


def _find_checks(result: GateResult, name: str) -> list[Check]:
    """Return the checks of a measure over all queries."""
    return [
        check for check in result.decision.checks if check.metric == name and check.where is None and not check.query
    ]


def _find_floor(checks: Iterable[Check]) -> float | None:
    return next((check.limit for check in checks if check.kind == "min"), None)


def _measure(result: GateResult, name: str, comparison: Comparison | None, bounds: MeasureBounds | None) -> MeasureRow:
    """Return a measure with what it is held against, and how it compares with the baseline.

    Its bounds matter if a rule looks at it, and unjudged documents could move it.
    """
    candidate, before = result.evaluation, result.baseline.evaluation if result.baseline else None
    checks = _find_checks(result, name)
    scores = sorted(candidate.values(name).values())
    rounded = {score: round(score, 6) for score in set(scores)}  # most queries share a score with others
    plain = {} if comparison is None else comparison.to_dict()
    for key in ("measure", "segment", "n", "baseline", "candidate"):
        plain.pop(key, None)
    return MeasureRow(
        name=name,
        definition=candidate.scores.definitions.get(name, name),
        lower_is_better=lower_is_better(name),
        mean=_number(candidate.mean(name)),
        interval=candidate.interval(name),
        n=len(scores),
        baseline=_number(comparison.baseline if comparison else before.mean(name) if before else math.nan),
        compared=UNSET if comparison is None else _number(comparison.candidate),
        n_compared=UNSET if comparison is None else comparison.n,
        floor=_find_floor(checks),
        status=_status(checks, comparison),
        values=tuple([rounded[score] for score in scores]),
        bounds=bounds if bounds and bounds.worst != bounds.best and checks else UNSET,
        **plain,
    )


def _status(
    checks: Sequence[Check], comparison: Comparison | None
) -> Literal["FAIL", "DEGRADED", "INCONCLUSIVE", "PASS", "UNCHECKED"]:
    """Return what became of a measure; without a check that passed it is not called a pass."""
    if any(check.outcome in (Outcome.FAIL, Outcome.ERROR) for check in checks):
        return "FAIL"
    if comparison is not None and comparison.gain < -_TIE:
        return "DEGRADED"
    if any(check.outcome is Outcome.INCONCLUSIVE for check in checks):
        return "INCONCLUSIVE"
    return "PASS" if checks else "UNCHECKED"


def _latency(result: GateResult, traces: Sequence[Trace]) -> LatencyFacts:
    """Return how long the stages took, with a histogram of the times of traces."""
    candidate, before = result.evaluation, result.baseline.evaluation if result.baseline else None
    times = _list_times(traces)
    counts, edges = np.histogram(times, bins=_BINS) if len(times) else (np.zeros(0, int), np.zeros(0))
    return LatencyFacts(
        stages=_stages(candidate),
        baseline=_stages(before) if before else {},
        histogram=Histogram(
            edges=tuple(round(float(edge), 4) for edge in edges), counts=tuple(int(count) for count in counts)
        ),
    )


def _list_times(traces: Sequence[Trace]) -> Sequence[float] | Floats:
    """Return the milliseconds of the answers, as far as they are known."""
    if isinstance(traces, TraceTable):  # which has no errors, and needs no object for each trace
        return traces.timings.get("total", np.zeros(0))
    return [trace.timings["total"] for trace in traces if "total" in trace.timings and not trace.error]


def _stages(evaluation: Evaluation) -> dict[str, StageTimes]:
    """Return the stages whose times are all known; a baseline that was written by hand may lack some."""
    names = StageTimes.__struct_fields__
    return {
        stage: StageTimes(**{name: times[name] for name in names})
        for stage, times in evaluation.latency.items()
        if all(math.isfinite(times.get(name, math.nan)) for name in names)
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
