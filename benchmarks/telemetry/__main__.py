"""What telemetry costs a query, beside the SDK of OpenTelemetry alone.

``./scripts/bench telemetry`` makes the spans, log records and metrics of a finished run, and the same with nothing but
the SDK and attributes that are there already. Nothing happens while questions are asked: all of it comes after the last
one. Promised is that karat adds less than 30 microseconds of CPU time a query. ``--quick`` takes a tenth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from karat.telemetry import AskedQuery, Destination, FinishedRun
from karat.telemetry._emission import emit_run

SCORES = {"P@5": 0.2, "R@5": 0.5, "RR@10": 1.0, "nDCG@10": 0.61}
PROMISED = 30
"""Microseconds a query beside the SDK."""


def make_run(count: int) -> FinishedRun:
    query = AskedQuery(query="q1", text="Is there wifi?", relevant=2, seconds=0.03, returned=1, scores=SCORES)
    return FinishedRun(
        id="mine", system="mine", golden="hotel", k=10, begun=0.0, queries=(query,) * count, means=SCORES
    )


def use_sdk(count: int) -> None:
    """Make two spans, four log records and a value of a histogram for each query."""
    resource = Resource.create({"service.name": "karat"})
    tracers, loggers, reader = TracerProvider(resource=resource), LoggerProvider(resource), InMemoryMetricReader()
    tracers.add_span_processor(SimpleSpanProcessor(InMemorySpanExporter()))
    loggers.add_log_record_processor(SimpleLogRecordProcessor(InMemoryLogRecordExporter()))
    tracer, logger = tracers.get_tracer("sdk"), loggers.get_logger("sdk")
    latency = MeterProvider([reader], resource).get_meter("sdk").create_histogram("latency", unit="s")
    own = {"karat.run.id": "mine", "query_id": "q1", "relevant_count": 2, **SCORES}
    call = {"gen_ai.operation.name": "retrieval", "gen_ai.provider.name": "mine", "gen_ai.data_source.id": "hotel",
            "gen_ai.retrieval.top_k": 10, "karat.returned": 1}  # fmt: skip
    result = {"karat.run.id": "mine", "gen_ai.evaluation.name": "P@5", "gen_ai.evaluation.score.value": 0.2}
    around = trace.set_span_in_context(tracer.start_span("dataset", start_time=0))
    for number in range(count):
        span = tracer.start_span("query", around, attributes=own, start_time=number)
        inside = trace.set_span_in_context(span)
        inner = tracer.start_span("retrieval", inside, SpanKind.CLIENT, attributes=call, start_time=number)
        inner.end(number)
        span.end(number)
        latency.record(0.03, {"karat.run.id": "mine"})
        for _ in SCORES:
            logger.emit(LogRecord(
                timestamp=number, observed_timestamp=number, context=inside, severity_number=SeverityNumber.INFO,
                attributes=result, event_name="gen_ai.evaluation.result",
            ))  # fmt: skip
    reader.get_metrics_data()


def measure(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    count = 500 if parser.parse_args().quick else 5000
    run, destination = make_run(count), Destination(urls={})
    alone, own = [], []
    for _ in range(5):  # in turns, so that what else the machine does hits both
        alone.append(measure(lambda: use_sdk(count)))
        own.append(measure(lambda: emit_run(run, destination)))
    sdk, karat = (min(times) / count * 1e6 for times in (alone, own))
    print("| | CPU us a query |\n|---|---|")
    print(f"| the SDK alone | {sdk:.1f} |\n| karat | {karat:.1f} |")
    print(f"| difference (promised < {PROMISED}) | {karat - sdk:.1f} |")


if __name__ == "__main__":
    main()
