"""Spans that tracing tools export, in one form: OTLP, the OpenTelemetry SDK, Phoenix, MLflow and Langfuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from karat.core import InputError, shorten
from karat.files import BOM, decode, parse_json
from karat.traces.spans._otlp import list_json_spans, read_json_span
from karat.traces.spans._span import Span, flatten, parse_text, read_iso, read_nanoseconds

_FRAME_TRACE = "context.trace_id"


def holds_spans(record: Mapping[str, Any]) -> bool:
    """Return whether the first record of a file is one that a tracing tool exports."""
    if record.keys() & {"resourceSpans", "resource_spans", "observations"}:
        return True
    data = record.get("data")
    if isinstance(data, list):  # a page of Langfuse's API, or of Phoenix's
        return bool(data) and isinstance(data[0], dict) and ("traceId" in data[0] or "context" in data[0])
    if "info" in record and isinstance(data, dict):
        return "spans" in data
    if _FRAME_TRACE in record or ("traceId" in record and record.keys() & {"startTime", "parentObservationId"}):
        return True
    return isinstance(record.get("context"), dict) and "attributes" in record and "trace_id" in record["context"]


def read_spans(lines: Iterable[bytes], source: str) -> Iterator[Span]:
    """Yield the spans of a file: one JSON value, a list of them, or one on each line, which is read as it comes."""
    for value in read_values(lines, source):
        yield from read_value(value, source)


def read_values(lines: Iterable[bytes], source: str) -> Iterator[object]:
    """Yield the JSON values of a file: one over several lines, or one on each."""
    lines = iter(lines)
    first = next(lines, b"").removeprefix(BOM)
    try:
        value = parse_json(decode(first, source), source, 1)
    except InputError:
        if first.rstrip().endswith(b"}"):  # a line of its own, which is damaged
            raise
        yield parse_json(decode(b"".join(chain([first], lines)), source), source)  # one value over several lines
        return
    yield value
    for number, line in enumerate(lines, 2):
        if line.strip():
            try:
                yield parse_json(decode(line, source), source, number)
            except InputError as error:  # a line of its own does not know its number
                raise InputError(error.what, source=source, line=number, hint=error.hint) from None


def read_value(value: Any, source: str) -> Iterator[Span]:
    """Yield the spans of a value that a tracing tool wrote."""
    if isinstance(value, list):
        for item in value:
            yield from read_value(item, source)
        return
    if not isinstance(value, dict):
        raise InputError("holds something that is not a span", source=source)
    try:
        if (groups := value.get("resourceSpans", value.get("resource_spans"))) is not None:
            yield from (read_json_span(*part) for part in list_json_spans(groups))
        elif "info" in value and "data" in value:
            yield from _read_mlflow_trace(value)
        elif "observations" in value:
            yield from (_read_langfuse(item, value) for item in value["observations"])
        elif isinstance(value.get("data"), list):
            for item in value["data"]:
                yield from read_value(item, source)
        elif "traceId" in value and "startTime" in value:
            yield _read_langfuse(value, {})
        elif _FRAME_TRACE in value:
            yield _read_sdk(_unfold(value))
        else:
            yield _read_sdk(value)
    except RecursionError:
        raise InputError("holds a span that is nested too deep", source=source) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"holds a span that cannot be read: {shorten(repr(error))[1:-1]}", source=source) from None


def _unfold(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of Phoenix's data frame as its JSON has it; what is missing in a row is left out."""
    prefix = "attributes."
    known = {name: value for name, value in row.items() if value is not None and value != ""}
    return {
        **known,
        "context": {"trace_id": row[_FRAME_TRACE], "span_id": row.get("context.span_id", "")},
        "attributes": {name.removeprefix(prefix): value for name, value in known.items() if name.startswith(prefix)},
    }


def _read_sdk(value: Mapping[str, Any]) -> Span:
    """Read what the SDK's ``span.to_json()`` and Phoenix write."""
    status = value.get("status") or value.get("status_code") or {}
    code = status.get("status_code") if isinstance(status, dict) else status
    message = value.get("status_message") or (status.get("description") if isinstance(status, dict) else "")
    attributes = dict(value.get("attributes") or {})
    if kind := value.get("span_kind"):
        attributes.setdefault("openinference.span.kind", kind)
    return Span(
        trace=str(value["context"]["trace_id"]),
        id=str(value["context"].get("span_id", "")),
        parent=str(value.get("parent_id") or ""),
        name=str(value.get("name", "")),
        start=read_iso(value.get("start_time")),
        end=read_iso(value.get("end_time")),
        attributes=flatten(attributes),
        error=str(message or "failed") if code == "ERROR" else "",
    )


def _read_mlflow_trace(value: Mapping[str, Any]) -> Iterator[Span]:
    facts = value["info"].get("trace_metadata") if isinstance(value["info"], dict) else {}
    session = (facts or {}).get("mlflow.trace.session") or ""
    return (_read_mlflow(span, session) for span in value["data"]["spans"])


def _read_mlflow(value: Mapping[str, Any], session: str) -> Span:
    """Read a span of MLflow, whose attributes are JSON texts, in its own form or in that of OTLP."""
    own = value.get("attributes") or {}
    attributes = {key: parse_text(text) for key, text in own.items()}
    status = value.get("status") or {}
    code = value.get("status_code") or status.get("code") or ""
    message = value.get("status_message") or status.get("message") or "failed"
    return Span(
        trace=str(attributes.get("mlflow.traceRequestId") or value.get("trace_id", "")),
        id=str(value.get("span_id", "")),
        parent=str(value.get("parent_span_id") or value.get("parent_id") or ""),
        name=str(value.get("name", "")),
        start=read_nanoseconds(value.get("start_time_unix_nano", value.get("start_time"))),
        end=read_nanoseconds(value.get("end_time_unix_nano", value.get("end_time"))),
        attributes={**attributes, "mlflow.trace.session": session},
        error=str(message) if "ERROR" in str(code) else "",
    )


def _read_langfuse(value: Mapping[str, Any], trace: Mapping[str, Any]) -> Span:
    """Read an observation, of a trace if that is known."""
    metadata = parse_text(value.get("metadata"))
    return Span(
        trace=str(value.get("traceId") or trace.get("id") or ""),
        id=str(value.get("id") or ""),
        parent=str(value.get("parentObservationId") or ""),
        name=str(value.get("name") or ""),
        start=read_iso(value.get("startTime")),
        end=read_iso(value.get("endTime")),
        attributes={
            "langfuse.observation.type": str(value.get("type", "")),
            "langfuse.observation.input": value.get("input"),
            "langfuse.observation.output": value.get("output"),
            "session.id": value.get("sessionId") or trace.get("sessionId") or "",
            "user.id": value.get("userId") or trace.get("userId") or "",
            **flatten(metadata if isinstance(metadata, dict) else {}),
        },
        error=str(value.get("statusMessage") or "failed") if value.get("level") == "ERROR" else "",
    )
