"""A run as spans, metrics and log records.

Spans have the times that the run recorded: it begins when it began, and questions follow each other by their latencies.
Where several were asked at once, they overlapped in truth, and ``karat.times`` says that the order was reconstructed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from karat.core import __version__
from karat.telemetry._calls import count_calls, make_call
from karat.telemetry._destination import Destination
from karat.telemetry._making import RUN_ID, Attributes, Maker, make_context, make_trace, name_query
from karat.telemetry._records import AskedQuery, FinishedRun, ModelCall

BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2)
"""Seconds: the limits of the histogram of latencies."""
SCOPE = "karat.evaluation"
RESULT = "gen_ai.evaluation.result"
FAILED = "retrieval_failed"
_NAMES = {"P@5": "precision_at_5", "R@5": "recall_at_5"}
_RR, _NDCG = re.compile(r"RR(@\d+)?"), re.compile(r"nDCG(@\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """What is sent, by signal."""

    spans: tuple[ReadableSpan, ...]
    metrics: MetricsData | None
    logs: tuple[ReadableLogRecord, ...]


def emit_run(run: FinishedRun, destination: Destination) -> Emitted:
    """Return the spans, metrics and log records of a finished run."""
    maker = Maker(SCOPE)
    root = locate_run(run.seed)
    is_sampled = maker.is_sampled(root.trace_id, "evaluator.EvaluateDataset")
    spans: list[ReadableSpan] = []
    logs: list[ReadableLogRecord] = []
    at = begun = int(run.begun * 1e9)
    calls = _group_calls(run.calls)
    for query in run.queries:
        end = at + int((query.seconds or 0) * 1e9)
        context = locate_query(root, query.query, query.paraphrase, query.repeat)
        if is_sampled:
            own = calls.pop((query.query, query.paraphrase, query.repeat), [])
            answering = max(at, end - sum(int(call.seconds * 1e9) for call in own))
            spans += _make_spans(maker, run, query, context, root, (at, answering, end), content=destination.content)
            spans += _make_calls(maker, run, own, context, answering, content=destination.content)
        logs += _list_results(maker, run, query, context, end)
        at = end
    if is_sampled:
        others = [call for own in calls.values() for call in own]
        spans += _make_calls(maker, run, others, root, begun, content=destination.content)
        spans.append(_make_root(maker, run, root, begun, at))
    logs += _list_envelopes(maker, run, root, at)
    return Emitted(spans=tuple(spans), metrics=_emit_metrics(run, destination, maker.resource), logs=tuple(logs))


def _group_calls(calls: Sequence[ModelCall]) -> dict[tuple[str, int, int], list[ModelCall]]:
    groups: dict[tuple[str, int, int], list[ModelCall]] = {}
    for call in calls:
        groups.setdefault((call.query, call.paraphrase, call.repeat), []).append(call)
    return groups


def _make_calls(
    maker: Maker, run: FinishedRun, calls: Sequence[ModelCall], parent: SpanContext, at: int, *, content: bool
) -> Iterator[ReadableSpan]:
    """Yield the spans of calls, one after the other from a time on, within the span of a query, or of the run."""
    for number, call in enumerate(calls):
        context = make_context(parent.trace_id, f"chat\0{parent.span_id:x}\0{number}")
        yield make_call(maker, run.id, call, context, parent, at, content=content)
        at += int(call.seconds * 1e9)


def locate_run(seed: str) -> SpanContext:
    """Return the span of a run; always the same for the same seed."""
    return make_context(make_trace(seed), "run" if seed else "")


def locate_query(root: SpanContext, query: str, paraphrase: int = 0, repeat: int = 0) -> SpanContext:
    """Return the span of a query of a run."""
    return make_context(root.trace_id, name_query(query, paraphrase, repeat))


@lru_cache(maxsize=256)
def name_score(measure: str) -> str:
    """Return the attribute of a measure on a query span; empty for one that the guide of "beluga" has no name for.

    >>> [name_score(measure) for measure in ("P@5", "RR@10", "nDCG@10", "Success@3")]
    ['precision_at_5', 'mrr', 'ndcg', '']
    """
    if measure in _NAMES:
        return _NAMES[measure]
    return "mrr" if _RR.fullmatch(measure) else "ndcg" if _NDCG.fullmatch(measure) else ""


def _name_scores(scores: Mapping[str, float], prefix: str = "") -> dict[str, float]:
    """Return the attributes of some scores; of several of one name, the first one counts."""
    named: dict[str, float] = {}
    for measure, value in scores.items():
        if name := name_score(measure):
            named.setdefault(prefix + name, value)
    return named


def _make_root(maker: Maker, run: FinishedRun, context: SpanContext, begin: int, end: int) -> ReadableSpan:
    failed = sum(bool(query.error) for query in run.queries)
    attributes: Attributes = {
        RUN_ID: run.id,
        "query_count": len(run.queries),
        "top_k": run.k,
        "karat.system": run.system,
        "karat.golden": run.golden,
        "karat.times": "reconstructed",
        **_name_scores(run.means, "mean_"),
        "queries_evaluated": len(run.queries) - failed,
    }
    return maker.make_span("evaluator.EvaluateDataset", context, begin, end, attributes)


def _make_spans(
    maker: Maker,
    run: FinishedRun,
    query: AskedQuery,
    context: SpanContext,
    root: SpanContext,
    times: tuple[int, int, int],
    *,
    content: bool,
) -> tuple[ReadableSpan, ReadableSpan]:
    """Return the span of a query, and that of its retrieval, which ends when a model is asked for the answer."""
    begin, answering, end = times
    attributes: Attributes = {RUN_ID: run.id, "query_id": query.query, "relevant_count": query.relevant}
    attributes |= _name_scores(query.scores)
    variant = {"karat.paraphrase": query.paraphrase, "karat.repeat": query.repeat}
    attributes |= {name: value for name, value in variant.items() if value}
    call = make_context(context.trace_id, f"retrieval\0{context.span_id:x}")
    retrieval = _describe_retrieval(run, query, content=content)
    make = partial(maker.make_span, begin=begin, error=query.error, kind=FAILED)
    return (
        make(f"retrieval {run.golden}", call, end=answering, attributes=retrieval, parent=context, client=True),
        make("evaluator.EvaluateQuery", context, end=end, attributes=attributes, parent=root),
    )


def _describe_retrieval(run: FinishedRun, query: AskedQuery, *, content: bool) -> Attributes:
    """Return the attributes of a retrieval span, by the conventions for generative AI."""
    attributes: Attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": run.system,
        "gen_ai.data_source.id": run.golden,
        "gen_ai.retrieval.top_k": run.k,
        "karat.returned": query.returned,
    }
    if query.session:
        attributes["gen_ai.conversation.id"] = query.session
    for name, value in query.envelope.items():
        if isinstance(value, str | int | float):
            attributes[f"karat.envelope.{name}"] = value
    if content:
        documents = [{"id": name, "score": score} for name, score in query.documents]
        attributes["gen_ai.retrieval.query.text"] = query.text
        attributes["gen_ai.retrieval.documents"] = json.dumps(documents, ensure_ascii=False)
    return attributes


def _list_results(
    maker: Maker, run: FinishedRun, query: AskedQuery, context: SpanContext, at: int
) -> Iterator[ReadableLogRecord]:
    """Yield a record for each measure of a query; one without a value says why."""
    for measure, value in query.scores.items():
        yield maker.make_log(RESULT, context, at, describe_result(run.id, measure, value))
    for measure, reason in query.missing.items():
        yield maker.make_log(RESULT, context, at, describe_result(run.id, measure, None, reason))


def describe_result(run: str, measure: str, value: float | None, reason: str = "") -> Attributes:
    """Return the attributes of the value of a measure; without one, the reason."""
    attributes: Attributes = {RUN_ID: run, "gen_ai.evaluation.name": measure}
    if value is not None:
        return {**attributes, "gen_ai.evaluation.score.value": value}
    return {**attributes, "gen_ai.evaluation.explanation": reason, "error.type": "not_measurable"}


def _list_envelopes(maker: Maker, run: FinishedRun, context: SpanContext, at: int) -> Iterator[ReadableLogRecord]:
    """Yield the envelopes of a finished run: its report, and how it differs from the baseline."""
    failed = sum(bool(query.error) for query in run.queries)
    report = {"run_id": run.id, "queries": len(run.queries), "failed": failed, "means": dict(run.means)}
    yield maker.make_log("eval.retrieval_report", context, at, {RUN_ID: run.id}, json.dumps(report))
    if run.regression is not None:
        difference = {
            "run_id": run.id,
            "baseline": run.regression.baseline,
            "outcome": run.regression.outcome,
            "deltas": dict(run.regression.deltas),
        }
        yield maker.make_log("eval.regression_diff", context, at, {RUN_ID: run.id}, json.dumps(difference))


def _emit_metrics(run: FinishedRun, destination: Destination, resource: Resource) -> MetricsData | None:
    """Return the metrics of a finished run: latencies, one more run, and the means as they are now."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter, prefix, shared = provider.get_meter(SCOPE, __version__), destination.prefix, {RUN_ID: run.id}
    latency = meter.create_histogram(
        f"{prefix}evaluation_latency_seconds",
        unit="s",
        description="Latency of single queries",
        explicit_bucket_boundaries_advisory=BUCKETS,
    )
    for query in run.queries:
        if query.seconds is not None:
            latency.record(query.seconds, shared)
    meter.create_counter(f"{prefix}evaluations_total", unit="{run}", description="Finished runs").add(1, shared)
    for name, value in _name_scores(run.means).items():
        meter.create_gauge(f"{prefix}{name}", unit="1", description=f"Latest mean of {name}").set(value, shared)
    set_means(meter, prefix, run.id, run.means)
    count_calls(meter, run.id, run.calls)
    data = reader.get_metrics_data()
    provider.shutdown()
    return data


def set_means(meter: Any, prefix: str, run: str, means: Mapping[str, float]) -> None:
    """Set the gauge of each measure to its mean."""
    gauge = meter.create_gauge(f"{prefix}evaluation_mean", unit="1", description="Latest mean of each measure")
    for measure, value in means.items():
        gauge.set(value, {RUN_ID: run, "karat.measure": measure})
