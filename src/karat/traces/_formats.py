"""The formats in which traces can be written, and what each of them loses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from karat.core import Citation, Hit, Span, Stage, Trace, document_of
from karat.traces import _losses as losses
from karat.traces._conventions import genai, genai_memory, langfuse, mlflow, openinference
from karat.traces._log_names import AGENT_LATENCIES
from karat.traces._losses import Loss
from karat.traces._trace_rows import trace_record
from karat.traces._writing import Clock, langfuse_writer, mlflow_writer, otlp_writer


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFormat:
    """A format of traces: one line of JSON for each."""

    name: str
    text: str
    """What the file is, as people read it."""
    losses: tuple[Loss, ...] = ()
    """What it cannot hold of a trace."""
    make_row: Callable[[Trace, Clock], Mapping[str, Any]]
    """Returns the line of a trace that has none of the losses."""

    @property
    def keeps_origin(self) -> bool:
        """Whether it holds where the run comes from: golden set, system, settings and versions."""
        return self.name == "karat"

    def encode(self, trace: Trace, clock: Clock) -> bytes:
        """Return the line of a trace, with its end."""
        return encode_line(self.make_row(trace, clock))


def encode_line(row: Mapping[str, Any]) -> bytes:
    """Return a record as a line of JSON."""
    try:
        return msgspec.json.encode(row) + b"\n"
    except (TypeError, UnicodeEncodeError, OverflowError):
        # A subclass of a text or a number, half of a surrogate pair, or a number of more than 64 bits.
        return json.dumps(row, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _asked(trace: Trace) -> dict[str, Any]:
    """Return what both logs have of a question. Wording and repeat are always told, so that nobody has to guess."""
    row: dict[str, Any] = {"qid": trace.query, "query": trace.text}
    row |= {"paraphrase": trace.paraphrase, "seed": trace.repeat}
    return {**row, "error": trace.error} if trace.error else row


def _named(id_: str, document: str) -> dict[str, Any]:
    return {"id": id_} if document == document_of(id_) else {"id": id_, "document": document}


def _agent_row(trace: Trace, _: Clock) -> dict[str, Any]:
    row = {**trace.envelope, **_asked(trace)}
    if trace.context.session:
        row["sessionId"] = trace.context.session
    if trace.context.turn:
        row["turnNumber"] = trace.context.turn
    times = {"totalLatencyMs": "total", **AGENT_LATENCIES}
    row |= {name: trace.timings[stage] for name, stage in times.items() if stage in trace.timings}
    row |= trace.telemetry
    if trace.stages:
        row["stages"] = [_agent_stage(stage) for stage in trace.stages]
    row["topk"] = [_agent_hit(hit) for hit in trace.hits]
    return row


def _agent_stage(stage: Stage) -> dict[str, Any]:
    facts = {
        "channel": stage.channel or None,
        "inputCount": stage.inputs,
        "outputCount": stage.outputs,
        "durationMs": stage.milliseconds,
    }
    return {"stage": stage.name, **{name: value for name, value in facts.items() if value is not None}}


def _agent_hit(hit: Hit) -> dict[str, Any]:
    row = {**_named(hit.id, hit.document), "score": hit.score}
    if hit.channels:
        row["channels"] = {name: [place.rank, place.score] for name, place in hit.channels.items()}
    return row


def _blocks_row(trace: Trace, _: Clock) -> dict[str, Any]:
    row = {**trace.envelope, **_asked(trace), "topk": [_blocks_hit(hit) for hit in trace.hits], **trace.telemetry}
    if trace.answer:
        row["answer"] = trace.answer
    if trace.refused:
        row["refused"] = True
    if trace.citations:
        hits = {hit.id: hit.document for hit in reversed(trace.hits)}
        row["answer_citations"] = [_blocks_citation(citation, hits) for citation in trace.citations]
    return row


def _blocks_citation(citation: Citation, hits: Mapping[str, str]) -> dict[str, Any]:
    """Return a record that names the document where a reader would take another one: that of the hit with the id."""
    row = {**_named(citation.id, citation.document), **_offsets(citation.span)}
    return (
        row if hits.get(citation.id, citation.document) == citation.document else row | {"document": citation.document}
    )


def _blocks_hit(hit: Hit) -> dict[str, Any]:
    row = {**_named(hit.id, hit.document), "score": hit.score, **_offsets(hit.span)}
    return {**row, "type": hit.type} if hit.type else row


def _offsets(span: Span | None) -> dict[str, Any]:
    return {} if span is None else {"offsets": [span.start, span.end]}


TRACE_FORMATS: Mapping[str, TraceFormat] = {
    entry.name: entry
    for entry in (
        TraceFormat(name="karat", text="a run file of karat", make_row=lambda trace, _: trace_record(trace)),
        TraceFormat(
            name="agent",
            text="a log with agent's stages and telemetry",
            losses=(
                losses.SPANS, losses.PARTS, losses.TYPES, losses.CONTENTS, losses.STAGE_SCORES, losses.SOURCES,
                losses.STAGE_LISTS, losses.AGENT_TIMES, losses.AGENT_CONTEXTS, losses.ANSWERS, losses.CITATIONS,
                losses.REFUSALS, losses.AGENT_TELEMETRY_ONLY, losses.AGENT_ENVELOPE_ONLY, losses.JUDGED,
            ),
            make_row=_agent_row,
        ),
        TraceFormat(
            name="blocks",
            text="a log with blocks' positions, ΔS, λ state, citations and envelope",
            losses=(
                losses.ODD_SPANS, losses.PARTS, losses.CONTENTS, losses.CHANNELS, losses.STAGE_SCORES, losses.SOURCES,
                losses.STAGES, losses.TIMES, losses.CONTEXTS, losses.CITED_PARTS, losses.BLOCKS_TELEMETRY_ONLY,
                losses.BLOCKS_ENVELOPE_ONLY, losses.JUDGED,
            ),
            make_row=_blocks_row,
        ),
        TraceFormat(
            name="openinference",
            text="OpenInference retriever and reranker spans, OTLP JSON",
            make_row=otlp_writer(openinference),
        ),
        TraceFormat(
            name="genai", text="OpenTelemetry GenAI retrieval spans, OTLP JSON", make_row=otlp_writer(genai)
        ),
        TraceFormat(
            name="genai-memory",
            text="OpenTelemetry GenAI memory spans, OTLP JSON",
            make_row=otlp_writer(genai_memory),
        ),
        TraceFormat(
            name="mlflow", text="MLflow traces, as Trace.to_json() writes them", make_row=mlflow_writer(mlflow)
        ),
        TraceFormat(
            name="langfuse",
            text="Langfuse traces with their observations, as its API returns them",
            make_row=langfuse_writer(langfuse),
        ),
    )
}  # fmt: skip
"""Every format by its name."""
