"""What telemetry costs a query, beside the SDK of OpenTelemetry alone.

``./scripts/bench telemetry`` makes the spans, log records and metrics of a finished run, and the same with nothing but
the SDK and attributes that are there already. Nothing happens while questions are asked: all of it comes after the last
one. Then it ingests logged queries with and without a collector, which is a process of its own, and sends the same
spans by the SDK's tracer and exporter. Promised is that karat adds less than 30 microseconds of CPU time a query to
what the SDK takes. ``--quick`` takes a tenth.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from karat import online
from karat.config import TelemetryConfig
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


COLLECTOR = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def collector() -> Iterator[str]:
    """Run a collector in a process of its own, which takes everything."""
    with subprocess.Popen([sys.executable, "-c", COLLECTOR], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.kill()


def ingest_log(folder: Path, count: int, url: str) -> float:
    """Return the CPU seconds that it takes to ingest queries, and to send them if there is a URL."""
    path = Path(tempfile.mkdtemp(dir=folder)) / "karat.db"
    with online.open(path, keep_ids=True, system="v7", index="house") as log:
        for number in range(count):
            log.record("Is there wifi?", [("wifi", 0.5), ("pool", 0.25)], session=f"s{number // 4}", latency=30.0)
    config = TelemetryConfig(endpoint=url, timeout=600)

    def ingest() -> None:
        with online.emitting(config, print) as emit:
            assert online.ingest(path, emit=emit).records == count

    return measure(ingest)


def send_by_sdk(count: int, url: str) -> None:
    """Make and send the same spans, in batches, and record their latencies."""
    reader = InMemoryMetricReader()
    latency = MeterProvider([reader]).get_meter("sdk").create_histogram("latency", unit="s")
    total = MeterProvider([reader2 := InMemoryMetricReader()]).get_meter("sdk").create_counter("queries")
    exporter, kept = OTLPSpanExporter(f"{url}/v1/traces"), InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(kept))
    tracer = tracers.get_tracer("sdk")
    for number in range(count):
        own = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.provider.name": "v7",
            "gen_ai.data_source.id": "house",
            "gen_ai.conversation.id": f"s{number // 4}",
            "karat.query.id": f"{number:040x}",
            "karat.returned": 2,
        }
        tracer.start_span("retrieval house", kind=SpanKind.CLIENT, attributes=own, start_time=number).end(number)
        latency.record(0.03, {"karat.system": "v7"})
        total.add(1, {"karat.system": "v7", "karat.outcome": "answered"})
        if number % 512 == 511 or number == count - 1:
            exporter.export(kept.get_finished_spans())
            kept.clear()
    reader.get_metrics_data(), reader2.get_metrics_data()


def measure(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def compare_runs(count: int) -> None:
    run, destination = make_run(count), Destination(urls={})
    alone, own = [], []
    for _ in range(5):  # in turns, so that what else the machine does hits both
        alone.append(measure(lambda: use_sdk(count)))
        own.append(measure(lambda: emit_run(run, destination)))
    sdk, karat = (min(times) / count * 1e6 for times in (alone, own))
    print("| a query of a run | CPU us |\n|---|---|")
    print(f"| the SDK alone | {sdk:.1f} |\n| karat | {karat:.1f} |")
    print(f"| difference (promised < {PROMISED}) | {karat - sdk:.1f} |\n")


def compare_logs(count: int) -> None:
    alone, sending, sdk = [], [], []
    with tempfile.TemporaryDirectory() as folder, collector() as url:
        for _ in range(3):
            alone.append(ingest_log(Path(folder), count, ""))
            sending.append(ingest_log(Path(folder), count, url))
            sdk.append(measure(lambda: send_by_sdk(count, url)))
    without, with_it, by_sdk = (min(times) / count * 1e6 for times in (alone, sending, sdk))
    print("| a live query | CPU us | CPU s of 100,000 |\n|---|---|---|")
    rows = {
        "ingested": without,
        "ingested and sent": with_it,
        "sent by the SDK alone": by_sdk,
        f"what karat adds to the SDK (promised < {PROMISED})": with_it - without - by_sdk,
    }
    for name, value in rows.items():
        print(f"| {name} | {value:.1f} | {value / 10:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    compare_runs(500 if quick else 5000)
    compare_logs(2000 if quick else 20_000)


if __name__ == "__main__":
    main()
