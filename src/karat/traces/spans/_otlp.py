"""Spans of OTLP, the protocol of OpenTelemetry: as JSON, and as messages of its protobuf."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from karat.core import InputError, shorten
from karat.traces.spans._span import Span, flatten, read_nanoseconds

T = TypeVar("T")
_SPAN_ERROR = 2  # STATUS_CODE_ERROR
_MOST, _MOST_ATTRIBUTES = 50_000, 100_000  # an empty span takes two bytes to send, and a thousand to read


class TooMany(Exception):
    """More spans than are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A log record, as far as it may be about a span."""

    trace: str
    span: str
    event: str
    """The name of the event; empty for other log records."""
    time: int
    """Nanoseconds since 1970; 0 if it is not known."""
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a request of OTLP holds."""

    spans: tuple[Span, ...] = ()
    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()
    """Why the others could not be read, one line for each."""


def read_json_request(value: Any, source: str) -> Batch:
    """Return the spans and log records of a request as JSON. What is no request raises."""
    try:
        spans = _take(list_json_spans(value.get("resourceSpans") or ()))
        entries = _take(_list_json_entries(value.get("resourceLogs") or ()))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"is no request of OTLP: {shorten(repr(error))[1:-1]}", source=source) from None
    problems: list[str] = []
    return Batch(
        spans=_read_each(read_json_span, spans, problems),
        entries=_read_each(_read_json_entry, entries, problems),
        problems=tuple(problems),
    )


def read_message(request: Any) -> Batch:
    """Return the spans of an ExportTraceServiceRequest, or the log records of an ExportLogsServiceRequest."""
    problems: list[str] = []
    return Batch(
        spans=_read_each(_read_message_span, _take(_list_message_spans(request)), problems),
        entries=_read_each(_read_message_entry, _take(_list_message_entries(request)), problems),
        problems=tuple(problems),
    )


def _take(parts: Iterable[T]) -> list[T]:
    """Return the spans or log records of a request, if they are not too many."""
    taken = list(islice(parts, _MOST + 1))
    if len(taken) > _MOST:
        raise TooMany(f"a request may have {_MOST:,} spans or log records; send smaller batches")
    return taken


def _read_each(read: Callable[..., T], parts: Iterable[tuple[Any, ...]], problems: list[str]) -> tuple[T, ...]:
    """Return what can be read; why the rest cannot goes to ``problems``."""
    values: list[T] = []
    for part in parts:
        try:
            values.append(read(*part))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            problems.append(shorten(repr(error))[1:-1])
    return tuple(values)


def _list_message_spans(request: Any) -> Iterator[tuple[Any, Mapping[str, Any], str]]:
    for group in getattr(request, "resource_spans", ()):
        resource = _read_message_attributes(group.resource.attributes)
        for scope in group.scope_spans:
            for span in scope.spans:
                yield span, resource, scope.scope.name


def _list_message_entries(request: Any) -> Iterator[tuple[Any]]:
    for group in getattr(request, "resource_logs", ()):
        for scope in group.scope_logs:
            for record in scope.log_records:
                yield (record,)


def _read_message_span(span: Any, resource: Mapping[str, Any], scope: str) -> Span:
    return Span(
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        name=span.name,
        start=read_nanoseconds(span.start_time_unix_nano),
        end=read_nanoseconds(span.end_time_unix_nano),
        attributes=flatten(_read_message_attributes(span.attributes)),
        error=(span.status.message or "failed") if span.status.code == _SPAN_ERROR else "",
        resource=resource,
        scope=scope,
    )


def _read_message_entry(record: Any) -> Entry:
    attributes = _read_message_attributes(record.attributes)
    return Entry(
        trace=record.trace_id.hex(),
        span=record.span_id.hex(),
        event=record.event_name or str(attributes.get("event.name") or ""),
        time=read_nanoseconds(record.time_unix_nano or record.observed_time_unix_nano),
        attributes=flatten(attributes),
    )


def _read_message_attributes(items: Any) -> dict[str, Any]:
    return {item.key: _message_value(item.value) for item in _check_number(items)}


def _check_number(items: Any) -> Any:
    if len(items) > _MOST_ATTRIBUTES:
        raise ValueError(f"a span may have {_MOST_ATTRIBUTES:,} attributes, and this has {len(items):,}")
    return items


def _message_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    match kind:
        case None:
            return None
        case "array_value":
            return [_message_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return _read_message_attributes(value.kvlist_value.values)
        case "bytes_value":
            return b64encode(value.bytes_value).decode()  # as JSON has them
    return getattr(value, kind)


def _list_json_entries(groups: Any) -> Iterator[tuple[Mapping[str, Any]]]:
    for group in groups:
        for scope in group.get("scopeLogs") or ():
            for record in scope["logRecords"]:
                yield (record,)


def _read_json_entry(record: Mapping[str, Any]) -> Entry:
    attributes = read_json_attributes(record.get("attributes") or ())
    return Entry(
        trace=str(record.get("traceId") or "").lower(),
        span=str(record.get("spanId") or "").lower(),
        event=str(record.get("eventName") or attributes.get("event.name") or ""),
        time=read_nanoseconds(record.get("timeUnixNano") or record.get("observedTimeUnixNano")),
        attributes=flatten(attributes),
    )


def list_json_spans(groups: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any], str]]:
    """Yield the spans of OTLP as JSON, each with the attributes of its resource and the name of its scope."""
    for group in groups:
        resource = read_json_attributes((group.get("resource") or {}).get("attributes") or ())
        for scope in group.get("scopeSpans", group.get("scope_spans", ())):
            name = str((scope.get("scope") or {}).get("name") or "")
            for span in scope["spans"]:
                yield span, resource, name


def read_json_span(span: Mapping[str, Any], resource: Mapping[str, Any], scope: str) -> Span:
    """Return a span of OTLP as JSON."""
    return Span(
        trace=str(span.get("traceId", span.get("trace_id", ""))).lower(),
        id=str(span.get("spanId", span.get("span_id", ""))).lower(),
        parent=str(span.get("parentSpanId", span.get("parent_span_id")) or "").lower(),
        name=str(span.get("name", "")),
        start=read_nanoseconds(span.get("startTimeUnixNano", span.get("start_time_unix_nano"))),
        end=read_nanoseconds(span.get("endTimeUnixNano", span.get("end_time_unix_nano"))),
        attributes=flatten(read_json_attributes(span.get("attributes") or ())),
        error=_otlp_error(span.get("status") or {}),
        resource=resource,
        scope=scope,
    )


def read_json_attributes(items: Any) -> dict[str, Any]:
    """Return the attributes of OTLP as JSON as plain values by name."""
    return {str(item["key"]): _any_value(item.get("value") or {}) for item in _check_number(items)}


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
