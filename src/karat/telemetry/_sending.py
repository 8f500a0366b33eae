"""Sending a run to a collector: beside everything else, for a limited time, and never as a reason to fail."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from karat.core import UsageError
from karat.net import require_package, strip_secrets
from karat.telemetry._destination import Destination
from karat.telemetry._records import FinishedRun

_BATCH = 512
"""Spans or log records in a request, as the SDK's own processors send them."""


class Sending:
    """A run that is being sent in a thread of its own."""

    def __init__(self, run: FinishedRun, destination: Destination) -> None:
        self._run = run
        self._destination = destination
        self._problems: list[str] = []
        self._stopped = threading.Event()
        self._deadline = time.monotonic() + destination.timeout
        # A daemon: a collector that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._send, name="karat-telemetry", daemon=True)
        self._thread.start()

    def finish(self) -> str:
        """Wait until all is sent, or the time is up, and return a note on what was not; empty if all was."""
        self._thread.join(max(0.0, self._deadline - time.monotonic()))
        if self._thread.is_alive():
            self._stopped.set()
            waited = f"{self._destination.timeout:g} s"
            return f"telemetry: the collector has not taken the run within {waited}; the run itself is complete"
        return f"telemetry: {'; '.join(self._problems)}; the run itself is complete" if self._problems else ""

    def _send(self) -> None:
        try:
            if self._destination.problem:
                raise UsageError(self._destination.problem)
            require_package("opentelemetry.sdk", purpose="an OTLP endpoint that is configured", extra="otel")
            require_package(
                "opentelemetry.exporter.otlp.proto.http", purpose="an OTLP endpoint that is configured", extra="otel"
            )
            self._export()
        except UsageError as error:
            self._problems.append(str(error))
        except Exception as error:
            self._problems.append(f"{type(error).__name__}: {error}")

    def _export(self) -> None:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        from karat.telemetry._emission import emit_run

        log = logging.getLogger("opentelemetry")
        if not log.handlers:  # or Python prints what the note says, too
            log.addHandler(logging.NullHandler())
        emitted = emit_run(self._run, self._destination)
        urls, left = self._destination.urls, self._destination.timeout
        if "traces" in urls:
            self._send_all("traces", OTLPSpanExporter(urls["traces"], timeout=left), _cut(emitted.spans))
        if "logs" in urls:
            self._send_all("logs", OTLPLogExporter(urls["logs"], timeout=left), _cut(emitted.logs))
        if "metrics" in urls:
            batches = [] if emitted.metrics is None else [emitted.metrics]
            self._send_all("metrics", OTLPMetricExporter(urls["metrics"], timeout=left), batches)

    def _send_all(self, signal: str, exporter: Any, batches: Any) -> None:
        """Send the batches of a signal; after the first that is not taken, the others are not sent."""
        try:
            for batch in batches:
                if self._stopped.is_set():
                    return
                if exporter.export(batch).name != "SUCCESS":
                    where = strip_secrets(self._destination.urls[signal])
                    self._problems.append(f"the collector at {where} has not taken the {signal}")
                    return
        finally:
            exporter.shutdown()


def send_run(run: FinishedRun, destination: Destination) -> Sending:
    """Begin to send a run, and return at once."""
    return Sending(run, destination)


def _cut(records: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (records[at : at + _BATCH] for at in range(0, len(records), _BATCH))
