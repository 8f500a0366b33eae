"""Spans and log records of OpenTelemetry, made when what they are about is over: their times and ids are given.

The SDK's own tracer takes three times as long, and chooses ids by chance. Here they are made from what a span is about,
so that a judgment that comes later is in the context of the query that it judges, and what is sent twice is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from karat.core import __version__

Attributes = dict[str, Any]
RUN_ID = "karat.run.id"
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_UNSET = Status(StatusCode.UNSET)
_LONGEST = 500
"""Characters of an error."""


def describe_service() -> Resource:
    """Return who sends: karat, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES name another service."""
    named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {} if named else {"service.name": "karat", "service.version": __version__}
    return Resource.create(own)


def make_trace(seed: str = "") -> int:
    """Return the id of a trace: always the same for the same seed, and by chance without one."""
    return _hash(seed, 16) if seed else secrets.randbits(128) or 1


def make_context(trace_id: int, seed: str = "") -> SpanContext:
    """Return the context of a span: always the same for the same trace and seed, and by chance without a seed."""
    span_id = _hash(f"{trace_id:x}\0{seed}", 8) if seed else secrets.randbits(64) or 1
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED)


def name_query(query: str, paraphrase: int = 0, repeat: int = 0) -> str:
    """Return what the id of a query's span is made from."""
    return f"query\0{query}\0{paraphrase}\0{repeat}"


def _hash(text: str, size: int) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=size).digest()
    return int.from_bytes(digest, "big") or 1


class Maker:
    """Makes spans and log records of one scope."""

    def __init__(self, scope: str, resource: Resource | None = None) -> None:
        self.resource = resource or describe_service()
        self._scope = InstrumentationScope(scope, __version__)
        self._sampler = TracerProvider(shutdown_on_exit=False).sampler  # of OTEL_TRACES_SAMPLER
        self._longest = SpanLimits().max_span_attribute_length  # of OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT

    def is_sampled(self, trace_id: int, name: str, parent: SpanContext | None = None) -> bool:
        """Return whether the spans of a trace are sent: all are, unless OTEL_TRACES_SAMPLER or the parent says else."""
        if parent is None and "OTEL_TRACES_SAMPLER" not in os.environ:
            return True
        around = None if parent is None else _surround(parent)
        return self._sampler.should_sample(around, trace_id, name).decision is not Decision.DROP

    def make_span(
        self,
        name: str,
        context: SpanContext,
        begin: int,
        end: int,
        attributes: Attributes,
        *,
        parent: SpanContext | None = None,
        client: bool = False,
        error: str = "",
        kind: str = "_OTHER",
        links: Sequence[SpanContext] = (),
    ) -> ReadableSpan:
        """Return a span with times in nanoseconds; ``kind`` is the type of its error, if it has one."""
        status, events = _UNSET, tuple[Event, ...]()
        if error:
            message = _clean(error[:_LONGEST])
            status, attributes = Status(StatusCode.ERROR, message), {**attributes, "error.type": kind}
            events = (Event("exception", {"exception.type": kind, "exception.message": message}, end),)
        return ReadableSpan(
            _clean(name),
            context,
            parent,
            self.resource,
            self._shorten(attributes),
            events=events,
            links=tuple(map(Link, links)),
            kind=SpanKind.CLIENT if client else SpanKind.INTERNAL,
            status=status,
            start_time=begin,
            end_time=max(begin, end),
            instrumentation_scope=self._scope,
        )

    def make_log(
        self, event: str, context: SpanContext, at: int, attributes: Attributes, body: str | None = None
    ) -> ReadableLogRecord:
        """Return a log record in the context of a span."""
        record = LogRecord(
            timestamp=at,
            observed_timestamp=at,
            context=_surround(context),
            severity_number=SeverityNumber.INFO,
            body=body,
            attributes=self._shorten(attributes),
            event_name=event,
        )
        return ReadableLogRecord(record, self.resource, self._scope)

    def _shorten(self, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return attributes as they can be encoded: UTF-8 has no half of a surrogate pair."""
        for name, value in attributes.items():
            if type(value) is str and not value.isascii():
                attributes = {**attributes, name: _clean(value)}
        if self._longest is None:
            return attributes
        most = self._longest
        return {name: value[:most] if isinstance(value, str) else value for name, value in attributes.items()}


def _clean(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _surround(span: SpanContext) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(span), Context())


_PARENT = re.compile(r"(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-([0-9a-f]{16})-([0-9a-f]{2}))?", re.IGNORECASE)


def parse_parent(text: str) -> SpanContext | None:
    """Return the span that a ``traceparent``, or the trace that its id, names; None if a text is neither.

    Where only the trace is named, the id of the span is 0.

    >>> parse_parent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").span_id == 0x00F067AA0BA902B7
    True
    """
    match = _PARENT.fullmatch(text)
    if match is None or not (trace_id := int(match[1], 16)):
        return None
    flags = TraceFlags(int(match[3] or "01", 16))
    return SpanContext(trace_id, int(match[2] or "0", 16), is_remote=True, trace_flags=flags)
