"""Logged queries as telemetry: handed over when they are in the store, so that no caller waits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from karat.store import Row

if TYPE_CHECKING:
    from karat.config import TelemetryConfig
    from karat.telemetry import Destination, LiveQuery

Emit = Callable[[list[Row]], None]
"""Takes the rows of queries that are new in the store."""

_ID, _TIME, _TEXT, _SESSION, _HITS, _ERROR, _LATENCY = 0, 1, 2, 3, 8, 14, 15
_SYSTEM, _WEIGHT, _TRACE, _COUNT, _INDEX, _FLAGS = 16, 17, 18, 21, 23, 25
_LABELS = {5: "karat.intent", 6: "karat.mode", 7: "karat.tool", 22: "karat.build"}
_hits = msgspec.json.Decoder(list[tuple[Any, ...]]).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode
_CHUNK = 6


@contextmanager
def emitting(config: TelemetryConfig | None, say: Callable[[str], None]) -> Iterator[Emit | None]:
    """Yield a function that sends the rows of queries, or None if no collector is configured.

    At the end it waits for the collector for a limited time, and reports what that did not accept.
    """
    destination = _find_destination(config)
    if destination is None:
        yield None
        return
    from karat.online._received import RECEIVED
    from karat.telemetry import LiveSending

    sending = LiveSending(destination, make_reader(content=destination.content), say)
    try:
        # What came as a span, a collector has already; a receiver that sends to itself would never end.
        yield lambda rows: sending.put([row for row in rows if not row[_ID].startswith(RECEIVED)])
    finally:
        if note := sending.close():
            say(note)


def _find_destination(config: TelemetryConfig | None) -> Destination | None:
    """Return where queries go; nothing is imported if nobody has said that."""
    if config is None and not any(name.startswith("OTEL_EXPORTER_OTLP_") for name in os.environ):
        return None
    from karat.config import TelemetryConfig
    from karat.telemetry import find_destination

    return find_destination(config or TelemetryConfig())


def make_reader(*, content: bool) -> Callable[[Row], LiveQuery]:
    """Return a function that reads the row of a query; its documents only if they are sent."""
    from karat.telemetry import LiveQuery

    def read(row: Row) -> LiveQuery:
        labels: dict[str, Any] = {name: row[index] for index, name in _LABELS.items() if row[index]}
        if row[_WEIGHT] != 1:
            labels["karat.weight"] = row[_WEIGHT]
        if row[_FLAGS] != "{}":
            labels |= {f"karat.flag.{key}": variant for key, variant in _texts(row[_FLAGS]).items()}
        documents = [(hit[_CHUNK] or hit[0], hit[2]) for hit in _hits(row[_HITS])] if content else ()
        return LiveQuery(
            row[_ID],
            row[_TIME],
            row[_LATENCY],
            row[_TEXT],
            documents,
            row[_COUNT],
            row[_SESSION],
            row[_SYSTEM],
            row[_INDEX],
            row[_ERROR],
            row[_TRACE],
            labels,
        )

    return read


def current_trace() -> str:
    """Return the ``traceparent`` of OpenTelemetry's active span, or an empty text if there is none.

    ``log.query(text, trace=current_trace())`` keeps the query in the trace of the host. Nothing is imported.

    >>> current_trace()
    ''
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return ""
    context = api.get_current_span().get_span_context()
    if not context.is_valid:
        return ""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
