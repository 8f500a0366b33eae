"""Spans that tracing tools export, in one form: OTLP, the OpenTelemetry SDK, Phoenix, MLflow and Langfuse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from karat.core import InputError, shorten
from karat.files import decode, parse_json

_NANOSECONDS = 1_000_000  # of a millisecond


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One step of a traced request."""

    trace: str
    """The id of the request that it belongs to."""
    name: str
    start: float
    """Milliseconds, of a clock that all spans of a request share."""
    end: float
    attributes: Mapping[str, Any]
    """Flat: nested names are joined by dots. Lists of objects stay lists."""
    error: str = ""

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return max(0.0, self.end - self.start)


def holds_spans(record: Mapping[str, Any]) -> bool:
    """Return whether the first record of a file is one that a tracing tool exports."""
    if record.keys() & {"resourceSpans", "resource_spans", "observations"}:
        return True
    if {"info", "data"} <= record.keys() and isinstance(record["data"], dict):
        return "spans" in record["data"]
    if "traceId" in record and record.keys() & {"startTime", "parentObservationId"}:
        return True
    return isinstance(record.get("context"), dict) and "attributes" in record and "trace_id" in record["context"]


def read_spans(data: bytes, source: str) -> list[Span]:
    """Return the spans of a file: one JSON value, a list of them, or one on each line."""
    text = decode(data, source)
    try:
        values: list[Any] = [parse_json(text, source)]
    except InputError:
        lines = enumerate(text.split("\n"), 1)
        values = [parse_json(line, source, number) for number, line in lines if line.strip()]
    return [span for value in values for span in _read_value(value, source)]


def _read_value(value: Any, source: str) -> Iterator[Span]:
    if isinstance(value, list):
        for item in value:
            yield from _read_value(item, source)
        return
    if not isinstance(value, dict):
        raise InputError("holds something that is not a span", source=source)
    try:
        if groups := value.get("resourceSpans", value.get("resource_spans")):
            yield from _read_otlp(groups)
        elif "data" in value and "info" in value:
            yield from map(_read_mlflow, value["data"]["spans"])
        elif "observations" in value:
            yield from map(_read_langfuse, value["observations"])
        elif "traceId" in value and "startTime" in value:
            yield _read_langfuse(value)
        else:
            yield _read_sdk(value)
    except RecursionError:
        raise InputError("holds a span that is nested too deep", source=source) from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"holds a span that cannot be read: {shorten(repr(error))[1:-1]}", source=source) from None


def _read_otlp(groups: Any) -> Iterator[Span]:
    for group in groups:
        for scope in group.get("scopeSpans", group.get("scope_spans", ())):
            for span in scope["spans"]:
                yield Span(
                    trace=str(span.get("traceId", span.get("trace_id", ""))),
                    name=str(span.get("name", "")),
                    start=_nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano"))),
                    end=_nanoseconds(span.get("endTimeUnixNano", span.get("end_time_unix_nano"))),
                    attributes=_flatten(
                        {item["key"]: _any_value(item["value"]) for item in span.get("attributes", ())}
                    ),
                    error=_otlp_error(span.get("status") or {}),
                )


def _any_value(value: Mapping[str, Any]) -> Any:
    """Return an AnyValue of OTLP as a plain value."""
    if not value:
        return None
    kind, item = next(iter(value.items()))
    match kind:
        case "intValue" | "int_value":
            return int(item)
        case "doubleValue" | "double_value":
            return float(item)
        case "arrayValue" | "array_value":
            return [_any_value(entry) for entry in item.get("values", ())]
        case "kvlistValue" | "kvlist_value":
            return {entry["key"]: _any_value(entry["value"]) for entry in item.get("values", ())}
    return item


def _otlp_error(status: Mapping[str, Any]) -> str:
    failed = status.get("code") in (2, "2", "STATUS_CODE_ERROR", "ERROR")
    return str(status.get("message") or "failed") if failed else ""


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
        name=str(value.get("name", "")),
        start=_iso(value.get("start_time")),
        end=_iso(value.get("end_time")),
        attributes=_flatten(attributes),
        error=str(message or "failed") if code == "ERROR" else "",
    )


def _read_mlflow(value: Mapping[str, Any]) -> Span:
    """Read a span of MLflow, whose attributes are JSON texts, in its own form or in that of OTLP."""
    own = value.get("attributes") or {}
    attributes = {key: parse_text(text) for key, text in own.items()}
    status = value.get("status") or {}
    code = value.get("status_code") or status.get("code") or ""
    message = value.get("status_message") or status.get("message") or "failed"
    return Span(
        trace=str(attributes.get("mlflow.traceRequestId") or value.get("trace_id", "")),
        name=str(value.get("name", "")),
        start=_nanoseconds(value.get("start_time_unix_nano", value.get("start_time"))),
        end=_nanoseconds(value.get("end_time_unix_nano", value.get("end_time"))),
        attributes=attributes,
        error=str(message) if "ERROR" in str(code) else "",
    )


def _read_langfuse(value: Mapping[str, Any]) -> Span:
    kind = str(value.get("type", ""))
    return Span(
        trace=str(value.get("traceId", "")),
        name=str(value.get("name") or ""),
        start=_iso(value.get("startTime")),
        end=_iso(value.get("endTime")),
        attributes={
            "langfuse.type": kind,
            "langfuse.input": parse_text(value.get("input")),
            "langfuse.output": parse_text(value.get("output")),
            "session.id": value.get("sessionId") or "",
            **_flatten(value["metadata"] if isinstance(value.get("metadata"), dict) else {}),
        },
        error=str(value.get("statusMessage") or "failed") if value.get("level") == "ERROR" else "",
    )


def _flatten(attributes: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested attributes with dotted names; lists of objects are numbered, as OpenInference does."""
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            flat |= _flatten(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            flat |= _flatten({str(number): item for number, item in enumerate(value)}, f"{name}.")
        else:
            flat[name] = value
    return flat


def parse_text(value: Any) -> Any:
    """Return what a JSON text holds; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _nanoseconds(value: Any) -> float:
    return int(value or 0) / _NANOSECONDS


def _iso(value: Any) -> float:
    if not value:
        return 0.0
    time = datetime.fromisoformat(str(value))
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000
