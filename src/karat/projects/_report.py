"""The decision document of a run: everything that the decision rests on; every report is rendered from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from msgspec import UNSET

from karat.core import GoldenSet, Hit, Trace
from karat.evaluation import Evaluation, segment_queries, system_changes
from karat.gate import Check, Comparison, compare, describe_moves, find_movers, lower_is_better, make_generator
from karat.projects._gating import GateResult
from karat.reports import add_conclusions
from karat.schema import (
    DECISION_FORMAT,
    BaselineFacts,
    CheckRow,
    DecisionDocument,
    ExpectedRow,
    GoldenFacts,
    GoldenReport,
    Histogram,
    HitRow,
    LatencyFacts,
    LeftRow,
    MeasureRow,
    MoverRow,
    Passage,
    QueryRow,
    RunFacts,
    SegmentRow,
    StageTimes,
    SystemChange,
    Verdict,
    VerdictFailure,
    from_plain,
)
from karat.stats import Outcome, bootstrap

_SNIPPET = 300  # characters of a hit's document, so that a report can be read without the documents
_BINS = 24
_TIE = 1e-9


def report_document(
    result: GateResult, *, created: str | None = None, file: str = "", lint: GoldenReport | None = None
) -> DecisionDocument:
    """Return the decision on a run, with everything that a report may show of it.

    Two identical runs have the same document, apart from ``created``, the day. ``file`` is the name of the run's
    file, after which its reports are named. ``lint`` is what the linter reports about the golden set, as plain data.
    """
    candidate, golden, decision = result.evaluation, result.project.golden, result.decision
    before = result.baseline.evaluation if result.baseline else None
    comparisons = _compare(candidate, before)
    return add_conclusions(
        DecisionDocument(
            karat="report",
            kind="eval.retrieval_report",
            format=DECISION_FORMAT,
            created=created or f"{datetime.now(tz=UTC):%Y-%m-%d}",
            verdict=_verdict(result),
            run=_run(candidate, file),
            golden=_golden(candidate, golden),
            baseline=_baseline(result),
            measures=tuple(_measure(result, name, comparisons.get(name)) for name in candidate.means),
            checks=tuple(map(check_row, decision.checks)),
            caveats=tuple(result.caveats),
            movers=_movers(result),
            segments=_segments(golden, candidate, before),
            latency=_latency(result),
            queries=query_rows(golden, candidate, before),
            passages=find_passages(golden, candidate.traces),
            failures=(),
            recommendations=(),
            lint=UNSET if lint is None else lint,
        )
    )


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
        origin=origin or UNSET,
        fingerprint=candidate.provenance.fingerprint,
        system=dict(candidate.provenance.system),
        settings=dict(candidate.provenance.settings),
        versions=dict(candidate.provenance.versions),
        queries=len(candidate.queries),
        failed=len(candidate.failures),
        unfound=tuple(sorted(candidate.unfound - candidate.failures.keys())),
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
        judgments=len(golden.judgments),
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
        changes=tuple(
            SystemChange(key=key, now=now, was=was)
            for key, now, was in system_changes(candidate.provenance.system, before.provenance.system)
        ),
    )


def _movers(result: GateResult) -> tuple[MoverRow, ...]:
    if result.baseline is None:
        return ()
    candidate, before = result.evaluation, result.baseline.evaluation
    return tuple(
        MoverRow(
            query=mover.query,
            measure=mover.measure,
            baseline=mover.baseline,
            candidate=mover.candidate,
            moved=tuple(describe_moves(candidate.lists.get(mover.query, ()), before.lists.get(mover.query, ()))),
        )
        for mover in find_movers(candidate, before, result.decision.policy.measures)
    )


def _compare(candidate: Evaluation, before: Evaluation | None) -> dict[str, Comparison]:
    if before is None or not before.has_queries:
        return {}
    shared = [name for name in candidate.scores.measures if name in before.scores.measures]
    return {comparison.measure: comparison for comparison in compare(candidate, before, shared)}


def _measure(result: GateResult, name: str, comparison: Comparison | None) -> MeasureRow:
    """Return a measure with what it is held against, and how it compares with the baseline."""
    candidate, before = result.evaluation, result.baseline.evaluation if result.baseline else None
    checks = [
        check for check in result.decision.checks if check.metric == name and check.where is None and not check.query
    ]
    scores = sorted(candidate.values(name).values())
    plain = {} if comparison is None else comparison.to_dict()
    for key in ("measure", "segment", "n", "baseline", "candidate"):
        plain.pop(key, None)
    return MeasureRow(
        name=name,
        definition=candidate.scores.definitions.get(name, name),
        lower_is_better=lower_is_better(name),
        mean=_number(candidate.mean(name)),
        interval=_interval(name, scores),
        n=len(scores),
        baseline=_number(before.mean(name)) if before else None,
        floor=next((check.limit for check in checks if check.kind == "min"), None),
        status=_status(checks, comparison),
        values=tuple(round(score, 6) for score in scores),
        **plain,
    )


def _interval(name: str, scores: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean; None for fewer than two scores."""
    if len(scores) < 2:
        return None
    interval = bootstrap(scores, rng=make_generator(0, name), method="bca")
    return interval.low, interval.high


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


def _segments(golden: GoldenSet, candidate: Evaluation, before: Evaluation | None) -> tuple[SegmentRow, ...]:
    return tuple(
        SegmentRow(
            field=field,
            value=value,
            queries=len(queries),
            ids=tuple(queries),
            means=_means(candidate, queries),
            baseline=None if before is None else _means(before, queries),
        )
        for (field, value), queries in segment_queries(golden).items()
    )


def _means(evaluation: Evaluation, queries: Sequence[str]) -> dict[str, float | None]:
    return {name: _number(evaluation.mean(name, queries)) for name in evaluation.scores.measures}


def _latency(result: GateResult) -> LatencyFacts:
    candidate, before = result.evaluation, result.baseline.evaluation if result.baseline else None
    times = [trace.timings["total"] for trace in candidate.traces if "total" in trace.timings and not trace.error]
    counts, edges = np.histogram(times, bins=_BINS) if times else (np.zeros(0, int), np.zeros(0))
    return LatencyFacts(
        stages=_stages(candidate),
        baseline=_stages(before) if before else {},
        histogram=Histogram(
            edges=tuple(round(float(edge), 4) for edge in edges), counts=tuple(int(count) for count in counts)
        ),
    )


def _stages(evaluation: Evaluation) -> dict[str, StageTimes]:
    """Return the stages whose times are all known; a baseline that was written by hand may lack some."""
    names = StageTimes.__struct_fields__
    return {
        stage: StageTimes(**{name: times[name] for name in names})
        for stage, times in evaluation.latency.items()
        if all(math.isfinite(times.get(name, math.nan)) for name in names)
    }


def query_rows(golden: GoldenSet, candidate: Evaluation, before: Evaluation | None) -> tuple[QueryRow, ...]:
    """Return the queries of a run with their scores, hits and relevant documents, beside those of the baseline."""
    grades: dict[str, dict[str, int]] = {}
    for (id_, target), grade in golden.decided.items():
        of_query = grades.setdefault(id_, {})
        of_query[target.document] = max(grade, of_query.get(target.document, 0))
    first = {trace.query: trace for trace in reversed(candidate.traces) if not trace.paraphrase and not trace.repeat}
    now = {name: candidate.values(name) for name in candidate.scores.measures}
    then = {name: before.values(name) for name in before.scores.measures} if before else {}
    asked, rows = set(candidate.queries), []
    for query in golden.queries:
        if query.id in asked:
            trace, of_query = first.get(query.id), grades.get(query.id, {})
            ranking = before.lists.get(query.id, ()) if before else ()
            rows.append(
                QueryRow(
                    id=query.id,
                    text=query.text,
                    category=query.category or UNSET,
                    type=query.type or UNSET,
                    intent=query.intent or UNSET,
                    scores={name: column[query.id] for name, column in now.items() if query.id in column},
                    baseline={name: column[query.id] for name, column in then.items() if query.id in column},
                    error=candidate.failures.get(query.id, ""),
                    unfound=query.id in candidate.unfound,
                    unanswerable=not query.answerable or UNSET,
                    false_answer=query.id in candidate.false_answers or UNSET,
                    ms=None if trace is None else trace.timings.get("total"),
                    hits=_hits(trace, of_query, ranking),
                    left=_left(golden, trace, of_query, ranking),
                    expected=_expected(golden, trace, of_query),
                )
            )
    return tuple(rows)


def _hits(trace: Trace | None, grades: Mapping[str, int], before: Sequence[str]) -> tuple[HitRow, ...]:
    return tuple(
        HitRow(
            rank=rank,
            id=hit.id,
            document=hit.document,
            score=round(hit.score, 6),
            grade=grades.get(hit.document),
            was=before.index(hit.document) + 1 if hit.document in before else None,
            channels={name: place.rank for name, place in hit.channels.items()},
        )
        for rank, hit in enumerate(trace.hits if trace else (), 1)
    )


def _left(
    golden: GoldenSet, trace: Trace | None, grades: Mapping[str, int], before: Sequence[str]
) -> tuple[LeftRow, ...]:
    """Return the documents that were among the first of the baseline and are no longer found."""
    retrieved = {hit.document for hit in trace.hits} if trace else set()
    return tuple(
        LeftRow(document=id_, title=_title(golden, id_), was=rank, grade=grades.get(id_))
        for rank, id_ in enumerate(before, 1)
        if id_ not in retrieved
    )


def find_passages(golden: GoldenSet, traces: Iterable[Trace]) -> dict[str, Passage]:
    """Return title and beginning of everything that was found, by the id of the hit."""
    passages: dict[str, Passage] = {}
    for trace in traces:
        for hit in trace.hits if not trace.paraphrase and not trace.repeat else ():
            if hit.id not in passages:
                passages[hit.id] = Passage(title=_title(golden, hit.document), snippet=_snippet(golden, hit))
    return passages


def _title(golden: GoldenSet, id_: str) -> str:
    document = golden.document_by_id.get(id_)
    return document.title if document else ""


def _snippet(golden: GoldenSet, hit: Hit) -> str:
    """Return the beginning of a hit's own text, of its span of the document, or of the document."""
    if hit.content:
        return hit.content[:_SNIPPET]
    document = golden.document_by_id.get(hit.document)
    if document is None:
        return ""
    text = document.text.encode()[hit.span.start : hit.span.end].decode(errors="ignore") if hit.span else document.text
    return " ".join(text[: 2 * _SNIPPET].split())[:_SNIPPET]


def _expected(golden: GoldenSet, trace: Trace | None, grades: Mapping[str, int]) -> tuple[ExpectedRow, ...]:
    """Return the relevant documents, the best first, with the rank at which each was found."""
    ranks: dict[str, int] = {}
    for rank, hit in enumerate(trace.hits if trace else (), 1):
        ranks.setdefault(hit.document, rank)
    relevant = sorted(
        (id_ for id_, grade in grades.items() if grade >= golden.relevant), key=lambda id_: (-grades[id_], id_)
    )
    return tuple(
        ExpectedRow(document=id_, title=_title(golden, id_), grade=grades[id_], rank=ranks.get(id_)) for id_ in relevant
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
