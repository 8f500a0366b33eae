"""Spans as applications write them, in both conventions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from karat.traces.spans import Batch, Entry, Span

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_794_000_000_000_000_000
Documents = Sequence[tuple[str, float | None]]


def make_span(number: int, name: str, parent: int = 0, trace: str = TRACE, **attributes: Any) -> Span:
    """Return a span that begins at its number, in milliseconds, and takes one; ``_`` stands for a dot in names."""
    times = attributes.pop("times", (number, number + 1))
    return Span(
        trace=trace,
        id=f"{number:016x}",
        parent=f"{parent:016x}" if parent else "",
        name=name,
        start=START + times[0] * 1_000_000,
        end=START + times[1] * 1_000_000,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        error=attributes.pop("error", ""),
        resource={"service.name": "hotel", "service.version": "1.2"},
    )


def documents(prefix: str, listed: Documents) -> dict[str, Any]:
    """Return the attributes of documents by OpenInference."""
    attributes: dict[str, Any] = {}
    for number, (id_, score) in enumerate(listed):
        attributes[f"{prefix}.{number}.document.id"] = id_
        if score is not None:
            attributes[f"{prefix}.{number}.document.score"] = score
    return attributes


def retriever(number: int, text: str, listed: Documents, name: str = "dense", **fields: Any) -> Span:
    """Return a retriever span of OpenInference."""
    kind = {"openinference.span.kind": "RETRIEVER", "input.value": text}
    return make_span(number, name, **fields, **kind, **documents("retrieval.documents", listed))


def reranker(number: int, text: str, listed: Documents, **fields: Any) -> Span:
    """Return a reranker span of OpenInference."""
    kind = {"openinference.span.kind": "RERANKER", "reranker.query": text}
    return make_span(number, "cross-encoder", **fields, **kind, **documents("reranker.output_documents", listed))


def model(number: int, text: str, **fields: Any) -> Span:
    """Return the span of a language model by OpenInference."""
    kind = {"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": text}
    return make_span(number, "model", **fields, **kind)


def chain(number: int = 1, **fields: Any) -> Span:
    """Return a span that is around the others."""
    return make_span(number, "rag", **{"openinference.span.kind": "CHAIN", "session.id": "s1", **fields})


def genai(number: int, text: str, listed: Documents, operation: str = "retrieval", **fields: Any) -> Span:
    """Return a retrieval span by OpenTelemetry's conventions, or one that searches a memory."""
    about = "memory" if operation == "search_memory" else "retrieval"
    key = "gen_ai.memory.records" if about == "memory" else "gen_ai.retrieval.documents"
    rows = json.dumps([{"id": id_, "score": score} for id_, score in listed])
    names = {"gen_ai.operation.name": operation, f"gen_ai.{about}.query.text": text, key: rows}
    return make_span(number, f"{operation} hotel", **{"gen_ai.conversation.id": "s1", **fields}, **names)


def batch(*values: Span | Entry) -> Batch:
    """Return a request with some spans and log records."""
    spans = tuple(value for value in values if isinstance(value, Span))
    return Batch(spans=spans, entries=tuple(value for value in values if isinstance(value, Entry)))


def evaluation(span: int, name: str, trace: str = TRACE, **attributes: Any) -> Entry:
    """Return a log record that evaluates a span."""
    named = {f"gen_ai.evaluation.{key.replace('__', '.')}": value for key, value in attributes.items()}
    named["gen_ai.evaluation.name"] = name
    return Entry(
        trace=trace, span=f"{span:016x}", event="gen_ai.evaluation.result", time=START + 10**9, attributes=named
    )
