"""What a trace has besides its hits, as records of a run file: stages, context, citations, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from karat.core import Citation, Context, Span, Stage, Trace
from karat.schema import TraceCitation, TraceContext, TraceDocument, TraceStage
from karat.traces._hit_rows import build_hit, hit_record, read_hit, read_span, require, require_time

_NO_CONTEXT = Trace(query="", text="").context  # of all traces that have none
_CONTEXT_TEXTS = ("session", "time", "tenant")


def add_details(record: dict[str, Any], trace: Trace) -> None:
    """Add the stages, context, answer, citations, telemetry and envelope of a trace to its record, if it has them."""
    if trace.stages:
        record["stages"] = [_stage_record(stage) for stage in trace.stages]
    if trace.context is not _NO_CONTEXT and (context := trace.context.to_dict()):
        record["context"] = context
    if trace.answer:
        record["answer"] = trace.answer
    if trace.citations:
        record["citations"] = [_citation_record(citation) for citation in trace.citations]
    if trace.refused:
        record["refused"] = True
    if trace.telemetry:
        record["telemetry"] = dict(trace.telemetry)
    if trace.envelope:
        record["envelope"] = dict(trace.envelope)


def _stage_record(stage: Stage) -> dict[str, Any]:
    record: dict[str, Any] = {"name": stage.name}
    if stage.channel:
        record["channel"] = stage.channel
    numbers = {"inputs": stage.inputs, "outputs": stage.outputs, "ms": stage.milliseconds}
    record |= {name: number for name, number in numbers.items() if number is not None}
    if stage.hits:
        record["hits"] = [hit_record(hit) for hit in stage.hits]
    return record


def _citation_record(citation: Citation) -> dict[str, Any]:
    record: dict[str, Any] = {"id": citation.id}
    if citation.document != citation.id:
        record["document"] = citation.document
    if citation.span is not None:
        record["span"] = [citation.span.start, citation.span.end]
    return record | {name: text for name in ("section", "block") if (text := getattr(citation, name))}


def build_details(row: TraceDocument, ids: dict[str, str]) -> dict[str, Any]:
    """Return what the record of a trace has of them, as arguments of :class:`Trace`."""
    details = {
        "stages": tuple(_build_stage(stage, ids) for stage in row.stages or ()),
        "context": _build_context(row.context) if row.context else None,
        "answer": row.answer,
        "citations": tuple(_build_citation(citation) for citation in row.citations or ()),
        "refused": row.refused,
        "telemetry": row.telemetry,
        "envelope": row.envelope,
    }
    return {name: value for name, value in details.items() if value}


def _build_stage(row: TraceStage, ids: dict[str, str]) -> Stage:
    return Stage(
        name=row.name,
        channel=row.channel or "",
        inputs=None if row.inputs is UNSET else row.inputs,
        outputs=None if row.outputs is UNSET else row.outputs,
        milliseconds=None if row.ms is UNSET else row.ms,
        hits=tuple(build_hit(hit, ids) for hit in row.hits or ()),
    )


def _build_context(row: TraceContext) -> Context:
    return Context(
        session=row.session or "",
        turn=row.turn or 0,
        time=row.time or "",
        tenant=row.tenant or "",
        documents=row.documents or (),
        metadata=row.metadata or {},
    )


def _build_citation(row: TraceCitation) -> Citation:
    span = Span(*row.span) if row.span else None
    return Citation(row.id, row.document or row.id, span, row.section or "", row.block or "")


def read_details(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the same from a record, each field checked; what is wrong raises a TypeError, ValueError or KeyError."""
    details = {
        "stages": tuple(map(_read_stage, record.get("stages", ()))),
        "context": _read_context(record["context"]) if "context" in record else None,
        "answer": require(str, record.get("answer", "")),
        "citations": tuple(map(_read_citation, record.get("citations", ()))),
        "refused": require(bool, record.get("refused", False)),
        "telemetry": require(dict, record.get("telemetry", {})),
        "envelope": require(dict, record.get("envelope", {})),
    }
    return {name: value for name, value in details.items() if value}


def _read_stage(record: Mapping[str, Any]) -> Stage:
    return Stage(
        name=require(str, record["name"]),
        channel=require(str, record.get("channel", "")),
        inputs=_read_natural(record["inputs"]) if "inputs" in record else None,
        outputs=_read_natural(record["outputs"]) if "outputs" in record else None,
        milliseconds=require_time(record["ms"]) if "ms" in record else None,
        hits=tuple(map(read_hit, record.get("hits", ()))),
    )


def _read_natural(value: object) -> int:
    if (number := require(int, value)) < 0:
        raise ValueError(f"{number} is below 0")
    return number


def _read_context(record: Mapping[str, Any]) -> Context:
    texts = {name: require(str, record.get(name, "")) for name in _CONTEXT_TEXTS}
    return Context(
        session=texts["session"],
        turn=_read_natural(record.get("turn", 0)),
        time=texts["time"],
        tenant=texts["tenant"],
        documents=tuple(require(str, name) for name in require(list, record.get("documents", []))),
        metadata=require(dict, record.get("metadata", {})),
    )


def _read_citation(record: Mapping[str, Any]) -> Citation:
    id_ = require(str, record["id"])
    texts = {name: require(str, record.get(name, "")) for name in ("section", "block")}
    return Citation(id_, require(str, record.get("document", id_)), read_span(record), **texts)
