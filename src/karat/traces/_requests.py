"""Traces from the spans of tracing tools.

A request becomes a trace: its retriever spans are stages with their candidates, its reranker spans are stages after
them, and the list of the last one is the answer. A request that karat wrote is read as it was written.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from karat.core import Context, Hit, InputError, Stage, Trace, check_id, shorten
from karat.traces._trace_rows import read_trace
from karat.traces.spans import (
    DOCUMENT_IDS,
    OWN,
    Span,
    Step,
    find_content,
    find_document_id,
    find_score,
    find_session,
    find_top_k,
    read_spans,
    read_step,
)

SPAN_FORMAT = 1
"""The format of the spans that karat writes, in the attribute ``karat.format``."""
_JSON = ("ms", "context", "citations", "telemetry", "envelope")
"""Fields of a trace that are JSON texts in karat's own attributes."""
_PLAIN = ("query", "paraphrase", "repeat", "judged", "answer", "refused")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanTraces:
    """The requests of a file of spans."""

    traces: tuple[Trace, ...]
    """In the order of their first spans. The query of a trace is empty if its spans have no ``karat.query``."""
    k: int
    """How many documents were asked for; 0 if no span says so."""
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Request:
    """The spans of one request of another program, as far as they matter."""

    id: str
    steps: list[Step] = field(default_factory=list)
    query: str = ""
    session: str = ""


def read_span_traces(lines: Iterable[bytes], source: str) -> SpanTraces:
    """Return the traces of a file of spans; spans that are neither retriever nor reranker spans are left out."""
    reader = SpanReader(lines, source)
    return SpanTraces(traces=tuple(reader), k=reader.k, notes=reader.notes())


class SpanReader:
    """Yields the traces of a file of spans. A request that karat wrote is yielded as soon as it is complete.

    Those of other programs come at the end, since any of their spans may stand anywhere in the file.
    """

    def __init__(self, lines: Iterable[bytes], source: str) -> None:
        self._lines = lines
        self._source = source
        self.k = 0
        """How many documents were asked for, as far as the file was read; 0 if no span says so."""
        self._counts: Counter[str] = Counter()
        self._seen: set[tuple[str, str]] = set()
        self._requests: dict[str, _Request] = {}
        self._own: set[str] = set()
        self._roots: dict[tuple[str, str], Step] = {}
        """Of requests that karat wrote: those of which stages are still to come, by trace and span."""
        self._stages: dict[tuple[str, str], list[Step]] = {}

    def notes(self) -> tuple[str, ...]:
        """Return what was noticed, when all has been read."""
        return tuple(f"{self._source}: {count:,} {what}" for what, count in self._counts.items() if count)

    def __iter__(self) -> Iterator[Trace]:
        for span in read_spans(self._lines, self._source):
            if span.id and (span.trace, span.id) in self._seen:
                self._counts["spans that are there twice are counted once"] += 1
                continue
            self._seen.add((span.trace, span.id))
            step = self._read_step(span)
            self._counts["spans that retrieve nothing are left out"] += step is None
            if step is not None and ("format" in step.own or "stage" in step.own):
                yield from self._take_own(span.trace, step)
            elif step is not None or find_session(span.attributes) or f"{OWN}query" in span.attributes:
                self._take_foreign(span, step)
        yield from self._finish()

    def _read_step(self, span: Span) -> Step | None:
        try:
            step = read_step(span)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise _unreadable(error, self._source) from None
        if step is not None:
            self.k = max(self.k, find_top_k(span.attributes))
        return step

    def _take_own(self, trace: str, step: Step) -> Iterator[Trace]:
        """Add a span that karat wrote, and yield its request if that is complete."""
        if "format" in step.own:
            key = (trace, step.id)
            self._roots[key] = step
            self._own.add(trace)
        else:
            key = (trace, step.parent)
            self._stages.setdefault(key, []).append(step)
        root = self._roots.get(key)
        if root is not None and root.own.get("stages", 0) == len(self._stages.get(key, ())):
            yield self._read_own(key)

    def _read_own(self, key: tuple[str, str]) -> Trace:
        try:
            return _read_own(self._roots.pop(key), self._stages.pop(key, []), self._source)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise _unreadable(error, self._source) from None

    def _take_foreign(self, span: Span, step: Step | None) -> None:
        request = self._requests.setdefault(span.trace, _Request(span.trace))
        if step is not None:
            request.steps.append(step)
        if not request.query and (query := span.attributes.get(f"{OWN}query")) is not None:
            request.query = check_id(query, self._source)
        request.session = request.session or find_session(span.attributes)

    def _finish(self) -> Iterator[Trace]:
        """Yield the requests that are not complete, and those of other programs."""
        for key in list(self._roots):
            self._counts["requests lack some of their stages"] += 1
            yield self._read_own(key)
        for (trace, _), steps in self._stages.items():
            self._counts["stages without the span of their request are left out"] += len(steps)
            self._own.add(trace)
        for request in self._requests.values():
            if request.id in self._own:
                self._counts["spans that retrieve nothing are left out"] += len(request.steps)
            elif request.steps:
                try:
                    yield _read_foreign(request, self._source)
                except (TypeError, ValueError, OverflowError, RecursionError) as error:
                    raise _unreadable(error, self._source) from None


def _unreadable(error: Exception, source: str) -> InputError:
    return InputError(f"holds a span that cannot be read: {shorten(str(error))[1:-1]}", source=source)


def _read_own(root: Step, children: Sequence[Step], source: str) -> Trace:
    """Return a trace that karat wrote, from the record that its spans hold."""
    own = root.own
    if own["format"] != SPAN_FORMAT:
        hint = "a newer karat wrote it"
        raise InputError(f"holds spans of format {shorten(own['format'])}", source=source, hint=hint)
    record: dict[str, Any] = {name: own[name] for name in _PLAIN if name in own}
    record |= {name: json.loads(own[name]) for name in _JSON if name in own}
    if root.session:
        record["context"] = {"session": root.session, **record.get("context", {})}
    if root.error:
        record["error"] = root.error
    ordered = sorted(children, key=lambda step: step.own.get("number", 0))
    stages = {"stages": [_stage_record(step) for step in ordered]} if children else {}
    hits = list(map(_hit_record, root.records))
    return read_trace({"ms": {}, **record, "text": root.text, "hits": hits, **stages}, source)


def _stage_record(step: Step) -> dict[str, Any]:
    numbers = {name: step.own[name] for name in ("channel", "inputs", "outputs", "ms") if name in step.own}
    return {"name": step.own["stage"], **numbers, "hits": list(map(_hit_record, step.records))}


def _hit_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of a hit, whose fields may be spread over a document and its metadata."""
    metadata = record.get("metadata")
    known = {**(metadata if isinstance(metadata, dict) else {}), **record}
    known.pop("metadata", None)
    content = known.pop("page_content", None) or known.pop("content", None)
    return {**known, "content": content} if content else known


def _read_foreign(request: _Request, source: str) -> Trace:
    """Return the trace of a request that another program wrote."""
    steps = sorted(request.steps, key=lambda step: (step.start, step.end))
    text = next((step.text for step in steps if step.text), "")
    if not (request.query or text):
        raise InputError("a retriever span has neither 'karat.query' nor the text of its query", source=source)
    last = max(steps, key=lambda step: (step.reranks, step.end))
    error = next((step.error for step in steps if step.error), "")
    begin, end = min(step.start for step in steps), max(step.end for step in steps)
    what = request.query or text
    lists = {id(step): _read_hits(step, what, source) for step in steps}
    stages = tuple(_make_stage(step, lists[id(step)]) for step in steps)
    return Trace(
        query=request.query,
        text=text,
        hits=() if error else lists[id(last)],
        timings={**sum_times(stages), "total": max(0, end - begin) / 1e6} if end else {},
        error=error,
        stages=stages,
        context=Context(session=request.session),
        envelope={"trace_id": request.id},
    )


def _make_stage(step: Step, hits: tuple[Hit, ...]) -> Stage:
    name, channel = ("rerank", "") if step.reranks else ("candidate", step.name)
    time = step.milliseconds if step.end else None
    return Stage(name=name, channel=channel, outputs=len(hits), milliseconds=time, hits=hits)


def _read_hits(step: Step, query: str, source: str) -> tuple[Hit, ...]:
    """Return the hits of a span. If one of them has no score, all get scores by their ranks."""
    scores = [_read_score(record) for record in step.records]
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        known = [float(len(scores) - place) for place in range(len(scores))]
    return tuple(_read_hit(record, score, query, source) for record, score in zip(step.records, known, strict=True))


def _read_hit(record: Mapping[str, Any], score: float, query: str, source: str) -> Hit:
    if not (id_ := find_document_id(record)):
        hint = f"give its document an id, or one of {', '.join(DOCUMENT_IDS[1:])} in its metadata"
        raise InputError(f"a document of query {shorten(query)} has no id", source=source, hint=hint)
    return Hit(check_id(id_, source), score, content=find_content(record))


def _read_score(record: Mapping[str, Any]) -> float | None:
    score = find_score(record)
    if score is not None and not math.isfinite(score):
        raise ValueError(f"score {score} is not finite")
    return score


def sum_times(stages: Sequence[Stage]) -> dict[str, float]:
    """Return the milliseconds of stages by their labels."""
    times: dict[str, float] = {}
    for stage in stages:
        if stage.milliseconds is not None:
            times[stage.label] = times.get(stage.label, 0.0) + stage.milliseconds
    return times
