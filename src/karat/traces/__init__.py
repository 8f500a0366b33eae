"""Traces as records: the lines of a run file, logs, and the spans of tracing tools; read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.traces._log_names import (
    AGENT_ENVELOPE,
    AGENT_LATENCIES,
    AGENT_TELEMETRY,
    BLOCKS_ENVELOPE,
    BLOCKS_TELEMETRY,
    OTHER_SPELLINGS,
    TRACE_EVENT,
)
from karat.traces._trace_rows import decode_trace, decode_traces, encode_trace, read_trace, trace_record

if TYPE_CHECKING:
    from karat.traces._formats import TRACE_FORMATS, TraceFormat, encode_line
    from karat.traces._losses import Loss, drop_losses
    from karat.traces._requests import SpanReader, SpanTraces, read_span_traces, sum_times
    from karat.traces._writing import Clock
    from karat.traces.spans import holds_spans

__all__ = [
    "AGENT_ENVELOPE",
    "AGENT_LATENCIES",
    "AGENT_TELEMETRY",
    "BLOCKS_ENVELOPE",
    "BLOCKS_TELEMETRY",
    "OTHER_SPELLINGS",
    "TRACE_EVENT",
    "TRACE_FORMATS",
    "Clock",
    "Loss",
    "SpanReader",
    "SpanTraces",
    "TraceFormat",
    "decode_trace",
    "decode_traces",
    "drop_losses",
    "encode_line",
    "encode_trace",
    "holds_spans",
    "read_span_traces",
    "read_trace",
    "sum_times",
    "trace_record",
]
_HOME = {
    **dict.fromkeys(("TRACE_FORMATS", "TraceFormat", "encode_line"), "_formats"),
    **dict.fromkeys(("Loss", "drop_losses"), "_losses"),
    **dict.fromkeys(("SpanReader", "SpanTraces", "read_span_traces", "sum_times"), "_requests"),
    "holds_spans": "spans",
    "Clock": "_writing",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
