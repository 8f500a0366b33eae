"""A run as spans, metrics and log records, made with the SDK of OpenTelemetry.

Spans have the times that the run recorded: it begins when it began, and questions follow each other by their latencies.
Where several were asked at once, they overlapped in truth, and ``karat.times`` says that the order was reconstructed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider, ReadableLogRecord
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer

from karat.core import __version__
from karat.telemetry._destination import Destination
from karat.telemetry._records import AskedQuery, FinishedRun

BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2)
"""Seconds: the limits of the histogram of latencies."""
_SCOPE = "karat.evaluation"
_NAMES = {"P@5": "precision_at_5", "R@5": "recall_at_5"}
_RR, _NDCG = re.compile(r"RR(@\d+)?"), re.compile(r"nDCG(@\d+)?")
_LONGEST = 500


@dataclass
class _Kept(SpanProcessor):
    """Keeps the spans that have ended, all of them: a queue that drops would make a run look shorter."""

    spans: list[ReadableSpan] = field(default_factory=list)

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitted:
    """What is sent, by signal."""

    spans: tuple[ReadableSpan, ...]
    metrics: MetricsData | None
    logs: tuple[ReadableLogRecord, ...]


def emit_run(run: FinishedRun, destination: Destination) -> Emitted:
    """Return the spans, metrics and log records of a finished run."""
    resource = Resource.create({"service.name": "karat", "service.version": __version__})
    kept = _Kept()
    store = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call] # the SDK has not annotated it
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(kept)
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(store))
    tracer, logger = tracers.get_tracer(_SCOPE, __version__), loggers.get_logger(_SCOPE, __version__)
    for record in _emit_spans(run, destination, tracer):
        logger.emit(record)
    return Emitted(
        spans=tuple(kept.spans), metrics=_emit_metrics(run, destination, resource), logs=store.get_finished_logs()
    )


@lru_cache(maxsize=256)
def name_score(measure: str) -> str:
    """Return the attribute of a measure on a query span; empty for one that the guide of "plain" has no name for.

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


def _emit_spans(run: FinishedRun, destination: Destination, tracer: Tracer) -> Iterator[LogRecord]:
    """Make the spans of a run, and yield the log records about them."""
    shared = {"karat.run.id": run.id}
    at = begun = int(run.begun * 1e9)
    attributes: dict[str, str | int] = {
        **shared,
        "query_count": len(run.queries),
        "top_k": run.k,
        "karat.system": run.system,
        "karat.golden": run.golden,
        "karat.times": "reconstructed",
    }
    root: trace.Span = tracer.start_span("evaluator.EvaluateDataset", attributes=attributes, start_time=begun)
    around = trace.set_span_in_context(root)
    failed = 0
    for query in run.queries:
        failed += bool(query.error)
        end = at + int((query.seconds or 0) * 1e9)
        own = {**shared, "query_id": query.query, "relevant_count": query.relevant, **_describe(query)}
        span = tracer.start_span("evaluator.EvaluateQuery", around, attributes=own, start_time=at)
        inside = trace.set_span_in_context(span)
        call = tracer.start_span(
            f"retrieval {run.golden}",
            inside,
            SpanKind.CLIENT,
            attributes=_describe_retrieval(run, query, content=destination.content),
            start_time=at,
        )
        for each in (call, span):
            if query.error:
                message = query.error[:_LONGEST]
                each.set_status(Status(StatusCode.ERROR, message))
                each.set_attribute("error.type", "retrieval_failed")
                each.add_event("exception", {"exception.type": "retrieval_failed", "exception.message": message}, end)
            each.end(end)
        yield from _list_results(run, query, inside, end)
        at = end
    means = {**_name_scores(run.means, "mean_"), "queries_evaluated": len(run.queries) - failed}
    root.set_attributes(means)
    root.end(at)
    yield from _list_envelopes(run, around, at)


def _describe(query: AskedQuery) -> dict[str, Any]:
    variant = {"karat.paraphrase": query.paraphrase, "karat.repeat": query.repeat}
    return {**_name_scores(query.scores), **{name: value for name, value in variant.items() if value}}


def _describe_retrieval(run: FinishedRun, query: AskedQuery, *, content: bool) -> dict[str, Any]:
    """Return the attributes of a retrieval span, by the conventions for generative AI."""
    attributes: dict[str, Any] = {
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


def _list_results(run: FinishedRun, query: AskedQuery, context: Any, at: int) -> Iterator[LogRecord]:
    """Yield a record for each measure of a query; one without a value says why."""
    for measure, value in query.scores.items():
        yield _make_log(run, "gen_ai.evaluation.result", context, at, {
            "gen_ai.evaluation.name": measure, "gen_ai.evaluation.score.value": value,
        })  # fmt: skip
    for measure, reason in query.missing.items():
        yield _make_log(run, "gen_ai.evaluation.result", context, at, {
            "gen_ai.evaluation.name": measure, "gen_ai.evaluation.explanation": reason, "error.type": "not_measurable",
        })  # fmt: skip


def _list_envelopes(run: FinishedRun, context: Any, at: int) -> Iterator[LogRecord]:
    """Yield the envelopes of a finished run: its report, and how it differs from the baseline."""
    failed = sum(bool(query.error) for query in run.queries)
    report = {"run_id": run.id, "queries": len(run.queries), "failed": failed, "means": dict(run.means)}
    yield _make_log(run, "eval.retrieval_report", context, at, {}, json.dumps(report))
    if run.regression is not None:
        difference = {
            "run_id": run.id,
            "baseline": run.regression.baseline,
            "outcome": run.regression.outcome,
            "deltas": dict(run.regression.deltas),
        }
        yield _make_log(run, "eval.regression_diff", context, at, {}, json.dumps(difference))


def _make_log(
    run: FinishedRun, event: str, context: Any, at: int, attributes: dict[str, Any], body: str | None = None
) -> LogRecord:
    return LogRecord(
        timestamp=at,
        observed_timestamp=at,
        context=context,
        severity_number=SeverityNumber.INFO,
        body=body,
        attributes={"karat.run.id": run.id, **attributes},
        event_name=event,
    )


def _emit_metrics(run: FinishedRun, destination: Destination, resource: Resource) -> MetricsData | None:
    """Return the metrics of a finished run: latencies, one more run, and the means as they are now."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter, prefix, shared = provider.get_meter(_SCOPE, __version__), destination.prefix, {"karat.run.id": run.id}
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
    means = meter.create_gauge(f"{prefix}evaluation_mean", unit="1", description="Latest mean of each measure")
    for measure, value in run.means.items():
        means.set(value, {**shared, "karat.measure": measure})
    data = reader.get_metrics_data()
    provider.shutdown()
    return data
