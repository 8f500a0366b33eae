"""Sending to a collector: beside everything else, for a limited time, and never as a reason to fail."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from karat.core import UsageError
from karat.net import require_package, strip_secrets
from karat.telemetry._destination import Destination
from karat.telemetry._records import FinishedJudging, FinishedRun

if TYPE_CHECKING:
    from karat.telemetry._emission import Emitted

BATCH = 512
"""Spans or log records in a request, as the SDK's own processors send them."""


class Sending:
    """A finished run, or finished judging, that is being sent in a thread of its own."""

    def __init__(self, finished: FinishedRun | FinishedJudging, destination: Destination) -> None:
        self._finished = finished
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
            where = strip_secrets(next(iter(self._destination.urls.values())))
            return f"telemetry: the collector at {where} has not taken all of it within {waited}; {self._end}"
        return f"telemetry: {'; '.join(self._problems)}; {self._end}" if self._problems else ""

    @property
    def _end(self) -> str:
        if isinstance(self._finished, FinishedRun):
            return "the run itself is complete"
        return "the judging failed before" if self._finished.error else "the judging itself is complete"

    def _send(self) -> None:
        try:
            require_sendable(self._destination)
            self._export()
        except UsageError as error:
            self._problems.append(str(error))
        except Exception as error:
            self._problems.append(f"{type(error).__name__}: {error}")

    def _export(self) -> None:
        emitted = self._emit()
        batches: dict[str, Iterable[Any]] = {
            "traces": _cut(emitted.spans),
            "logs": _cut(emitted.logs),
            "metrics": [] if emitted.metrics is None else [emitted.metrics],
        }
        for signal, own in batches.items():
            if signal in self._destination.urls:
                self._send_all(signal, open_exporter(signal, self._destination), own)

    def _emit(self) -> Emitted:
        if isinstance(self._finished, FinishedRun):
            from karat.telemetry._emission import emit_run

            return emit_run(self._finished, self._destination)
        from karat.telemetry._judging import emit_judging

        return emit_judging(self._finished, self._destination)

    def _send_all(self, signal: str, exporter: Any, batches: Iterable[Any]) -> None:
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


def send_judging(judging: FinishedJudging, destination: Destination) -> Sending:
    """Begin to send what judges did, and return at once."""
    return Sending(judging, destination)


def require_sendable(destination: Destination) -> None:
    """Raise UsageError if nothing can be sent, because of a setting or a package that is not installed."""
    if destination.problem:
        raise UsageError(destination.problem)
    for package in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        require_package(package, purpose="an OTLP endpoint that is configured", extra="otel")


def open_exporter(signal: str, destination: Destination) -> Any:
    """Return the exporter of OpenTelemetry for a signal."""
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    log = logging.getLogger("opentelemetry")
    if not log.handlers:  # or Python prints what the note says, too
        log.addHandler(logging.NullHandler())
    kinds: dict[str, Any] = {"traces": OTLPSpanExporter, "logs": OTLPLogExporter, "metrics": OTLPMetricExporter}
    return kinds[signal](destination.urls[signal], timeout=destination.timeout)


def _cut(records: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (records[at : at + BATCH] for at in range(0, len(records), BATCH))
