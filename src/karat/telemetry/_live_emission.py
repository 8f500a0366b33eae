"""Live queries as spans and metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData
from opentelemetry.sdk.trace import ReadableSpan

from karat.core import __version__
from karat.telemetry._destination import Destination
from karat.telemetry._emission import BUCKETS, FAILED
from karat.telemetry._making import Attributes, Maker, make_context, make_trace, parse_parent
from karat.telemetry._records import LiveQuery

SCOPE = "karat.online"


class LiveEmission:
    """Makes the spans of live queries, and counts them for metrics."""

    def __init__(self, destination: Destination) -> None:
        self._content = destination.content
        self._maker = Maker(SCOPE)
        self._reader = InMemoryMetricReader()
        meters = MeterProvider([self._reader], self._maker.resource, shutdown_on_exit=False)
        meter, prefix = meters.get_meter(SCOPE, __version__), destination.prefix
        self._latency = meter.create_histogram(
            f"{prefix}query_latency_seconds",
            unit="s",
            description="Latency of live queries",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self._total = meter.create_counter(f"{prefix}queries_total", unit="{query}", description="Live queries")

    def emit(self, queries: Iterable[LiveQuery]) -> list[ReadableSpan]:
        """Count queries, and return their spans."""
        return list(self._emit(queries))

    def _emit(self, queries: Iterable[LiveQuery]) -> Iterator[ReadableSpan]:
        for query in queries:
            self._count(query)
            if (span := self._make_span(query)) is not None:
                yield span

    def collect(self) -> MetricsData | None:
        """Return the metrics of all queries so far."""
        return self._reader.get_metrics_data()

    def _count(self, query: LiveQuery) -> None:
        self._total.add(1, {"karat.system": query.system, "karat.outcome": _name_outcome(query)})
        if query.milliseconds is not None:
            self._latency.record(query.milliseconds / 1000, {"karat.system": query.system})

    def _make_span(self, query: LiveQuery) -> ReadableSpan | None:
        """Return the span of a query, in the trace of the host if it is known; None if that trace is not sampled."""
        around = parse_parent(query.trace) if query.trace else None
        trace_id = make_trace(query.id) if around is None else around.trace_id
        parent = around if around is not None and around.span_id else None
        name = f"retrieval {query.index}" if query.index else "retrieval"
        if not self._maker.is_sampled(trace_id, name, parent):
            return None
        begin = int(query.time * 1e9)
        return self._maker.make_span(
            name,
            make_context(trace_id, query.id),
            begin,
            begin + int((query.milliseconds or 0) * 1e6),
            _describe(query, content=self._content),
            parent=parent,
            client=True,
            error=(query.error if self._content else FAILED) if query.error else "",
            kind=FAILED,
        )


def _name_outcome(query: LiveQuery) -> str:
    if query.error:
        return "failed"
    return "unknown" if query.count is None else "answered" if query.count else "nothing_found"


def _describe(query: LiveQuery, *, content: bool) -> Attributes:
    """Return the attributes of a retrieval span, by the conventions for generative AI."""
    attributes: Attributes = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.provider.name": query.system or "unknown",
        "karat.query.id": query.id,
        **query.labels,
    }
    if query.index:
        attributes["gen_ai.data_source.id"] = query.index
    if query.session:
        attributes["gen_ai.conversation.id"] = query.session
    if query.count is not None:
        attributes["karat.returned"] = query.count
    if content:
        documents = [{"id": name, "score": score} for name, score in query.documents]
        attributes["gen_ai.retrieval.query.text"] = query.text
        attributes["gen_ai.retrieval.documents"] = json.dumps(documents, ensure_ascii=False)
    return attributes
