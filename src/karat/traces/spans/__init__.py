"""Spans of tracing tools: read from files and from requests of OTLP, by whichever convention they are written."""

from karat.traces.spans._files import holds_spans, read_spans, read_value, read_values
from karat.traces.spans._observations import (
    SpanEvaluation,
    list_memory_writes,
    read_answer,
    read_evaluations,
    read_log_evaluation,
    read_output,
    read_score_row,
)
from karat.traces.spans._otlp import Batch, Entry, TooMany, read_json_request, read_message
from karat.traces.spans._span import Span, parse_text, read_iso
from karat.traces.spans._steps import (
    DOCUMENT_IDS,
    OWN,
    Step,
    find_content,
    find_document_id,
    find_kind,
    find_score,
    find_session,
    find_top_k,
    find_user,
    read_step,
)

__all__ = [
    "DOCUMENT_IDS",
    "OWN",
    "Batch",
    "Entry",
    "Span",
    "SpanEvaluation",
    "Step",
    "TooMany",
    "find_content",
    "find_document_id",
    "find_kind",
    "find_score",
    "find_session",
    "find_top_k",
    "find_user",
    "holds_spans",
    "list_memory_writes",
    "parse_text",
    "read_answer",
    "read_evaluations",
    "read_iso",
    "read_json_request",
    "read_log_evaluation",
    "read_message",
    "read_output",
    "read_score_row",
    "read_spans",
    "read_step",
    "read_value",
    "read_values",
]
