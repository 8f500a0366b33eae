"""A collector on loopback: an HTTP server that keeps what it gets, decoded with OpenTelemetry's own package."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}

_LONGEST = 60  # seconds


class Sink(ThreadingHTTPServer):
    """The collector, and what it got by path."""

    daemon_threads = True

    def __init__(self, status: int, answering: threading.Event) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.answering = status, answering
        self.got: dict[str, list[Any]] = {path: [] for path in REQUESTS}
        self.headers: list[dict[str, str]] = []
        self.heard: dict[str, threading.Event] = {}
        """By path: set when something came."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def spans(self) -> list[Any]:
        return [
            span for request in self.got["/v1/traces"] for resource in request.resource_spans
            for scope in resource.scope_spans for span in scope.spans
        ]  # fmt: skip

    @property
    def logs(self) -> list[Any]:
        return [
            log for request in self.got["/v1/logs"] for resource in request.resource_logs
            for scope in resource.scope_logs for log in scope.log_records
        ]  # fmt: skip

    @property
    def metrics(self) -> dict[str, Any]:
        return {
            metric.name: metric for request in self.got["/v1/metrics"] for resource in request.resource_metrics
            for scope in resource.scope_metrics for metric in scope.metrics
        }  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    server: Sink

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        request = REQUESTS[self.path]()
        request.ParseFromString(body)
        self.server.got[self.path].append(request)
        self.server.headers.append(dict(self.headers))
        if self.path in self.server.heard:
            self.server.heard[self.path].set()
        self.server.answering.wait(_LONGEST)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def collecting(status: int = 200, *, slow: bool = False) -> Iterator[Sink]:
    """Run a collector; one that is slow answers when it is left."""
    answering = threading.Event()
    if not slow:
        answering.set()
    with Sink(status, answering) as sink:
        threading.Thread(target=sink.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield sink
        finally:
            answering.set()
            sink.shutdown()


def attributes(record: Any) -> dict[str, Any]:
    """Return the attributes of a record as plain values."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in record.attributes}
