"""Traces from the spans of tracing tools: OpenInference, OpenTelemetry GenAI, MLflow and Langfuse.

A request becomes a trace: its retriever spans are stages with their candidates, its reranker spans are stages after
them, and the list of the last one is the answer. Which question of the golden set it is, is told by the attribute
``karat.query``, or else by the text of the question.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from karat.core import Context, GoldenSet, Hit, InputError, Stage, Trace, check_id, shorten
from karat.runs._parts import Parts
from karat.runs._spans import Span, parse_text, read_spans
from karat.runs._tracefile import ForeignRun, queries_of

_IDS = ("id", "document_id", "doc_id", "chunk_id", "doc_uri", "source", "uri", "url")
_INDEXED = re.compile(r"(retrieval\.documents|reranker\.output_documents)\.([0-9]+)\.document\.(.+)")
_RETRIEVALS = ("retrieval", "search_memory", "retrieve")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A retriever or reranker span, read."""

    span: Span
    reranks: bool
    text: str
    records: Sequence[Mapping[str, Any]]


def read_span_file(data: bytes, source: str, golden: GoldenSet) -> ForeignRun:
    """Return the answers in a file of spans; spans that are neither retriever nor reranker spans are left out."""
    requests: dict[str, list[Span]] = {}
    for span in read_spans(data, source):
        requests.setdefault(span.trace, []).append(span)
    reader, asked = _Reader(golden, source), Counter[tuple[str, int]]()
    traces: list[Trace] = []
    strangers: dict[str, None] = {}
    for spans in requests.values():
        for trace in reader.read_all(spans):
            if trace.query not in reader.queries:
                strangers[trace.query] = None
                continue
            wording = (trace.query, trace.paraphrase)
            traces.append(replace(trace, repeat=asked[wording]))
            asked[wording] += 1
    other = sum(map(len, requests.values())) - reader.steps
    notes = (f"{source}: {other:,} spans that retrieve nothing are left out",) if other else ()
    settings = {
        "paraphrases": any(trace.paraphrase for trace in traces),
        "repeat": max(asked.values(), default=1),
    }
    return ForeignRun(traces=tuple(traces), strangers=tuple(strangers), settings=settings, notes=notes)


class _Reader:
    def __init__(self, golden: GoldenSet, source: str) -> None:
        self.queries = queries_of(golden)
        self.source = source
        self.steps = 0
        self._parts = Parts(golden)
        self._wordings = {
            _fold(text): (query.id, number)
            for query in reversed(golden.queries)
            for number, text in enumerate((query.text, *query.paraphrases))
        }

    def read_all(self, spans: Sequence[Span]) -> list[Trace]:
        """Return the traces of a request; numbers that no float or list can hold are one message."""
        try:
            return list(self.read(spans))
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"holds a span that cannot be read: {shorten(str(error))[1:-1]}", source=self.source
            ) from None

    def read(self, spans: Sequence[Span]) -> Iterator[Trace]:
        """Yield the trace of a request, if it retrieves something."""
        steps = [step for span in sorted(spans, key=lambda span: (span.start, span.end)) if (step := _read_step(span))]
        self.steps += len(steps)
        if not steps:
            return
        named = next((str(span.attributes["karat.query"]) for span in spans if "karat.query" in span.attributes), "")
        text = next((step.text for step in steps if step.text), "")
        query, paraphrase = self._wordings.get(_fold(text), (named or text, 0))
        if named:
            query, paraphrase = named, paraphrase if query == named else 0
        if not query:
            raise InputError("a retriever span has neither 'karat.query' nor the text of its query", source=self.source)
        last = max(steps, key=lambda step: (step.reranks, step.span.end))
        error = next((step.span.error for step in steps if step.span.error), "")
        begin, end = min(step.span.start for step in steps), max(step.span.end for step in steps)
        stages = tuple(self._stage(step, query) for step in steps)
        yield Trace(
            query=query,
            text=text,
            hits=() if error else self._hits(last, query),
            timings={**_sum_times(stages), "total": end - begin} if end else {},
            error=error,
            paraphrase=paraphrase,
            stages=stages,
            context=Context(session=_session(spans)),
            envelope={"trace_id": last.span.trace},
        )

    def _stage(self, step: _Step, query: str) -> Stage:
        hits = self._hits(step, query)
        name, channel = ("rerank", "") if step.reranks else ("candidate", step.span.name)
        time = step.span.milliseconds if step.span.end else None
        return Stage(name=name, channel=channel, outputs=len(hits), milliseconds=time, hits=hits)

    def _hits(self, step: _Step, query: str) -> tuple[Hit, ...]:
        scores = [_number(record.get("score")) for record in step.records]
        known = [score for score in scores if score is not None]
        if len(known) < len(scores):
            known = [float(len(scores) - place) for place in range(len(scores))]
        return tuple(self._hit(record, score, query) for record, score in zip(step.records, known, strict=True))

    def _hit(self, record: Mapping[str, Any], score: float, query: str) -> Hit:
        metadata = record.get("metadata")
        sources = (record, metadata if isinstance(metadata, dict) else {})
        id_ = next((str(values[key]) for values in sources for key in _IDS if values.get(key)), "")
        if not id_:
            hint = f"give its document an id, or one of {', '.join(_IDS[1:])} in its metadata"
            raise InputError(f"a document of query {shorten(query)} has no id", source=self.source, hint=hint)
        content = next((record[key] for key in ("content", "page_content", "text") if record.get(key)), "")
        check_id(id_, self.source)
        part = self._parts.of(id_, query)
        return Hit(id_, score, part.document, section=part.section, block=part.block, content=str(content))


def _read_step(span: Span) -> _Step | None:
    """Return a span as a step of retrieval, by whichever convention it is written; None if it is another kind."""
    known = span.attributes
    kind = str(
        known.get("openinference.span.kind") or known.get("mlflow.spanType") or known.get("langfuse.type") or ""
    ).upper()
    operation = known.get("gen_ai.operation.name")
    if kind not in ("RETRIEVER", "RERANKER") and operation not in _RETRIEVALS:
        return None
    if "mlflow.spanType" in known:
        text, records = _find_text(known.get("mlflow.spanInputs")), _list(known.get("mlflow.spanOutputs"))
    elif "langfuse.type" in known:
        text, records = _find_text(known.get("langfuse.input")), _list(known.get("langfuse.output"))
    elif operation in _RETRIEVALS:
        text = str(known.get("gen_ai.retrieval.query.text") or known.get("gen_ai.memory.query.text") or "")
        records = _list(parse_text(known.get("gen_ai.retrieval.documents", known.get("gen_ai.memory.records"))))
        records = records or _numbered(known, "gen_ai.retrieval.documents.")
    else:
        text = _find_text(parse_text(known.get("reranker.query") or known.get("input.value")))
        records = _openinference_documents(known, reranks=kind == "RERANKER")
    return _Step(span=span, reranks=kind == "RERANKER", text=text, records=records)


def _openinference_documents(known: Mapping[str, Any], *, reranks: bool) -> list[dict[str, Any]]:
    wanted = "reranker.output_documents" if reranks else "retrieval.documents"
    documents: dict[int, dict[str, Any]] = {}
    for name, value in known.items():
        if (match := _INDEXED.fullmatch(name)) and match[1] == wanted:
            record, key = documents.setdefault(int(match[2]), {}), match[3]
            if key == "metadata":
                record["metadata"] = parse_text(value)
            elif key.startswith("metadata."):
                record.setdefault("metadata", {})[key.removeprefix("metadata.")] = value
            else:
                record[key] = value
    return [documents[number] for number in sorted(documents)]


def _numbered(known: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return a list of objects whose fields were flattened."""
    records: dict[int, dict[str, Any]] = {}
    for name, value in known.items():
        number, _, key = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix) and number.isdecimal():
            records.setdefault(int(number), {})[key] = value
    return [records[number] for number in sorted(records)]


def _list(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        value = next((value[key] for key in ("documents", "results", "hits") if isinstance(value.get(key), list)), None)
    return [item if isinstance(item, dict) else {"id": item} for item in value] if isinstance(value, list) else []


def _find_text(value: Any) -> str:
    """Return the text of a query: the value itself, or its field of that name, or its only text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    named = next((value[key] for key in ("query", "question", "input", "text") if isinstance(value.get(key), str)), "")
    texts = [item for item in value.values() if isinstance(item, str)]
    return named or (texts[0] if len(texts) == 1 else "")


def _session(spans: Sequence[Span]) -> str:
    names = ("session.id", "gen_ai.conversation.id", "mlflow.trace.session")
    return next((str(value) for span in spans for name in names if (value := span.attributes.get(name))), "")


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    if not math.isfinite(number := float(value)):
        raise ValueError(f"score {number} is not finite")
    return number


def _sum_times(stages: Sequence[Stage]) -> dict[str, float]:
    times: dict[str, float] = {}
    for stage in stages:
        if stage.milliseconds is not None:
            times[stage.label] = times.get(stage.label, 0.0) + stage.milliseconds
    return times


def _fold(text: str) -> str:
    return " ".join(_WORDS.findall(text.casefold())) or text
