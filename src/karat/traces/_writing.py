"""Traces as spans: the request is one span, and each of its stages another below it.

The spans follow a convention, so that other tools show them. What no convention has a name for is in attributes of
karat's own, by which the trace is read again as it was: ``karat.query``, ``karat.k``, ``karat.stages`` (how many),
``karat.paraphrase``, ``karat.repeat``, ``karat.judged``, ``karat.answer`` and ``karat.refused``; as JSON ``karat.ms``,
``karat.context``, ``karat.citations``, ``karat.telemetry`` and ``karat.envelope``. A stage has ``karat.stage``,
``karat.number``, ``karat.channel``, ``karat.inputs``, ``karat.outputs`` and ``karat.ms``.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from karat.core import Trace, __version__
from karat.traces._conventions import Content, Convention, to_json
from karat.traces._requests import SPAN_FORMAT
from karat.traces._trace_rows import trace_record
from karat.traces.spans import OWN, Span

_HEX = re.compile(r"(?!0{32})[0-9a-f]{32}")
_PLAIN = ("paraphrase", "repeat", "judged", "answer", "refused")
_JSON = ("ms", "citations", "telemetry", "envelope")
_HOUR = 3_600_000.0  # milliseconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True, kw_only=True)
class Clock:
    """The ids and times of the requests of one file, which are written one after the other.

    A trace has no time of its own: the first request begins when the run did, and each when the one before ended.
    """

    name: str
    """The name of the system."""
    k: int = 0
    now: int = 0
    """Nanoseconds since 1970."""
    _used: set[str] = field(default_factory=set)

    def trace_id(self, trace: Trace) -> str:
        """Return the id of a request: the one that it was read with, if it can be used again, or else a new one."""
        known = trace.envelope.get("trace_id")
        id_ = known.lower().removeprefix("0x") if isinstance(known, str) else ""
        if not _HEX.fullmatch(id_) or id_ in self._used:
            key = to_json([self.name, trace.query, trace.paraphrase, trace.repeat, self.now])
            id_ = hashlib.sha256(key.encode()).hexdigest()[:32]
        self._used.add(id_)
        return id_


def make_spans(trace: Trace, convention: Convention, clock: Clock) -> list[Span]:
    """Return the spans of a trace, the request first."""
    id_, record = clock.trace_id(trace), trace_record(trace)
    session = trace.context.session
    root = Content(text=trace.text, hits=record["hits"], session=session, answer=trace.answer, k=clock.k)
    attributes = {**convention(root), **_own_attributes(record, session, clock.k)}
    start, end = clock.now, clock.now + _nanoseconds(trace.timings.get("total"))
    spans = [
        Span(
            trace=id_,
            id=_span_id(id_, 0),
            name=attributes.get("gen_ai.operation.name", "retrieval"),
            start=start,
            end=end,
            attributes=attributes,
            error=trace.error,
        )
    ]
    at = start
    for number, (stage, row) in enumerate(zip(trace.stages, record.get("stages", ()), strict=True), 1):
        content = Content(
            text=trace.text, hits=row.get("hits", ()), session=session, takes_list=stage.name != "candidate"
        )
        own = {f"{OWN}{name}": row[name] for name in ("channel", "inputs", "outputs", "ms") if name in row}
        until = at + _nanoseconds(stage.milliseconds)
        spans.append(
            Span(
                trace=id_,
                id=_span_id(id_, number),
                parent=spans[0].id,
                name=stage.channel or stage.name,
                start=at,
                end=until,
                attributes={**convention(content), f"{OWN}stage": stage.name, f"{OWN}number": number, **own},
            )
        )
        at = until
    clock.now = max(end, at)
    return spans


def _own_attributes(record: Mapping[str, Any], session: str, k: int) -> dict[str, Any]:
    own = {f"{OWN}format": SPAN_FORMAT, f"{OWN}query": record["query"], **({f"{OWN}k": k} if k else {})}
    if stages := len(record.get("stages", ())):
        own[f"{OWN}stages"] = stages
    own |= {f"{OWN}{name}": record[name] for name in _PLAIN if name in record}
    own |= {f"{OWN}{name}": to_json(record[name]) for name in _JSON if record.get(name)}
    context = {name: value for name, value in record.get("context", {}).items() if name != "session" or not session}
    return {**own, f"{OWN}context": to_json(context)} if context else own


def _nanoseconds(milliseconds: float | None) -> int:
    """Return how long a span is drawn: an hour at most, since times of 64 bits have to hold a whole run."""
    return round(min(max(0.0, milliseconds or 0.0), _HOUR) * 1e6)


def _span_id(trace: str, number: int) -> str:
    return hashlib.sha256(f"{trace}{number}".encode()).hexdigest()[:16]


def otlp_writer(convention: Convention) -> Callable[[Trace, Clock], dict[str, Any]]:
    """Return a function that makes the line of a trace as the collector's file exporter writes it: OTLP as JSON."""

    def write(trace: Trace, clock: Clock) -> dict[str, Any]:
        resource = {"attributes": [{"key": "service.name", "value": {"stringValue": clock.name}}]}
        scope = {"name": "karat", "version": __version__}
        spans = [_otlp_span(span) for span in make_spans(trace, convention, clock)]
        return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}

    return write


def _otlp_span(span: Span) -> dict[str, Any]:
    calls = "gen_ai.operation.name" in span.attributes
    return {
        "traceId": span.trace,
        "spanId": span.id,
        **({"parentSpanId": span.parent} if span.parent else {}),
        "name": span.name,
        "kind": 3 if calls else 1,  # client, internal
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": [{"key": key, "value": _any_value(value)} for key, value in span.attributes.items()],
        "status": {"code": 2, "message": span.error} if span.error else {},
    }


def _any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def mlflow_writer(convention: Convention) -> Callable[[Trace, Clock], dict[str, Any]]:
    """Return a function that makes the line of a trace as MLflow's ``Trace.to_json()`` writes it."""

    def write(trace: Trace, clock: Clock) -> dict[str, Any]:
        spans = make_spans(trace, convention, clock)
        root = spans[0]
        id_ = f"tr-{root.trace}"
        facts = {"mlflow.trace_schema.version": "3"}
        if trace.context.session:
            facts["mlflow.trace.session"] = trace.context.session
        info = {
            "trace_id": id_,
            "trace_location": {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": "0"}},
            "request_time": _iso(root.start),
            "execution_duration_ms": (root.end - root.start) // 1_000_000,
            "state": "ERROR" if root.error else "OK",
            "trace_metadata": facts,
            "tags": {"mlflow.traceName": root.name},
            "request_preview": trace.text,
        }
        return {"info": info, "data": {"spans": [_mlflow_span(span, id_) for span in spans]}}

    return write


def _mlflow_span(span: Span, request: str) -> dict[str, Any]:
    attributes = {"mlflow.traceRequestId": request, **span.attributes}
    code = "STATUS_CODE_ERROR" if span.error else "STATUS_CODE_OK"
    return {
        "trace_id": b64encode(bytes.fromhex(span.trace)).decode(),
        "span_id": b64encode(bytes.fromhex(span.id)).decode(),
        "parent_span_id": b64encode(bytes.fromhex(span.parent)).decode() if span.parent else None,
        "name": span.name,
        "start_time_unix_nano": span.start,
        "end_time_unix_nano": span.end,
        "events": [],
        "status": {"code": code, "message": span.error},
        "attributes": {name: to_json(value) for name, value in attributes.items()},
        "links": [],
    }


def langfuse_writer(convention: Convention) -> Callable[[Trace, Clock], dict[str, Any]]:
    """Return a function that makes the line of a trace as Langfuse's API returns it, with its observations."""

    def write(trace: Trace, clock: Clock) -> dict[str, Any]:
        spans = make_spans(trace, convention, clock)
        return {
            "id": spans[0].trace,
            "timestamp": _iso(spans[0].start),
            "name": spans[0].name,
            "input": {"query": trace.text},
            "output": trace.answer or None,
            "sessionId": trace.context.session or None,
            "observations": list(_observations(spans)),
        }

    return write


def _observations(spans: list[Span]) -> Iterator[dict[str, Any]]:
    for span in spans:
        known = dict(span.attributes)
        yield {
            "id": span.id,
            "traceId": span.trace,
            "parentObservationId": span.parent or None,
            "type": known.pop("langfuse.observation.type"),
            "name": span.name,
            "startTime": _iso(span.start),
            "endTime": _iso(span.end),
            "input": known.pop("langfuse.observation.input"),
            "output": known.pop("langfuse.observation.output"),
            "level": "ERROR" if span.error else "DEFAULT",
            "statusMessage": span.error or None,
            "metadata": known,
        }


def _iso(nanoseconds: int) -> str:
    time = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
