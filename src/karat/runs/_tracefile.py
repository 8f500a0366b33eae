"""Trace files: what a retriever logged, one answer a line.

::

    {"qid": "Q-0137", "query": "Explain symbolic constraint unlock.", "seed": 1,
     "topk": [{"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [204611, 205279], "type": "prose"}],
     "index_hash": "faiss:v3:hnsw:cos", "normaliser": "karat-1", "latency_ms": 12.5}

Only ``qid`` and ``topk`` have to be there. A query may stand there in several wordings, which are those of the golden
set, and with several seeds. The order of ``topk`` is the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.core import GoldenSet, Hit, InputError, Span, Trace, shorten
from karat.files import Reading
from karat.runs._parts import Part, Parts

if TYPE_CHECKING:
    from karat.files import Row

KEYS = frozenset({"topk", "index_hash", "answer_citations", "ΔS", "λ_state"})
"""What only a trace has."""
_SYSTEM = ("index_hash", "metric", "analyzer", "embed_model", "reranker", "build", "normaliser")
_LATENCY = ("latency_ms", "total_latency_ms", "ms")
_ENVELOPE = ("schema_version", "trace_id", "agent_id", "mem_rev", "mem_hash", "ts")
_NOT_SCORED = ("ΔS", "λ_state", "anchor", "answer_citations")
_ANSWERED = "retrieve.run"
"""The event that is an answer, in a log that has others too."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a file says, seen from a golden set."""

    traces: tuple[Trace, ...]
    """The answers to queries of the set."""
    strangers: tuple[str, ...]
    """The other queries."""
    system: Mapping[str, str] = field(default_factory=dict)
    """What the answers say of the system."""
    settings: Mapping[str, Any] = field(default_factory=lambda: {"paraphrases": False, "repeat": 1})
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """A row, before wordings and seeds are numbered."""

    row: Row
    trace: Trace
    paraphrase: int | None
    seed: int | None


def read_trace_file(path: str | Path, golden: GoldenSet) -> Answers:
    """Read a trace file, or say everything that is wrong with it."""
    reading, rows = Reading(), _Rows(golden)
    answers = [answer for row in reading.jsonl(path) if (answer := rows.answer(row)) is not None]
    reading.errors += rows.conflicts()
    reading.finish()
    known = [answer for answer in answers if answer.trace.query in rows.queries]
    seeds = sorted({answer.seed for answer in known}, key=lambda seed: -1 if seed is None else seed)
    wordings = _Wordings(golden, known)
    traces: dict[tuple[str, int, int], Trace] = {}
    for answer, paraphrase in zip(known, wordings.numbers, strict=True):
        key = (answer.trace.query, paraphrase, seeds.index(answer.seed))
        if key in traces:
            reading.errors.append(_twice(answer))
        traces[key] = replace(answer.trace, paraphrase=paraphrase, repeat=key[2])
    reading.finish()
    comparable = rows.normaliser in ("", golden.normaliser)
    for note in (*rows.notes(), *wordings.notes(), *_uneven(traces)):
        reading.note(f"{path}: {note}")
    return Answers(
        traces=tuple(traces.values() if comparable else map(_without_spans, traces.values())),
        strangers=tuple(dict.fromkeys(a.trace.query for a in answers if a.trace.query not in rows.queries)),
        system={key: next(iter(values)) for key, values in rows.said.items() if values},
        settings={
            "paraphrases": any(trace.paraphrase for trace in traces.values()),
            "repeat": len(seeds),
            **({} if seeds == [None] else {"seeds": seeds}),
        },
        notes=reading.notes(),
    )


def _twice(answer: _Answer) -> InputError:
    seed = "" if answer.seed is None else f" and with seed {answer.seed}"
    what = f"query {shorten(answer.trace.query)} is answered twice in the same words{seed}"
    return answer.row.wrong(what, "keep one of them, or give each its own 'seed', a whole number")


def _without_spans(trace: Trace) -> Trace:
    return replace(trace, hits=tuple(replace(hit, span=None) for hit in trace.hits))


def _uneven(traces: Mapping[tuple[str, int, int], Trace]) -> Iterator[str]:
    """Say that some queries were asked more often than others."""
    times: dict[str, int] = {}
    for query, _, _ in traces:
        times[query] = times.get(query, 0) + 1
    if len(set(times.values())) > 1:
        few = min(times, key=lambda query: times[query])
        yield (
            f"queries have {times[few]:,} (such as {shorten(few)}) to {max(times.values()):,} answers, "
            "by wording and seed; each counts the mean of its own"
        )


class _Rows:
    """Reads rows, and keeps what all of them say of the system."""

    def __init__(self, golden: GoldenSet) -> None:
        self.golden = golden
        self.queries = queries_of(golden)
        self.parts = Parts(golden)
        self.said: dict[str, dict[str, Row]] = {key: {} for key in _SYSTEM}
        """By field its values, and for each the first row that has it."""
        self.other_events: dict[str, int] = {}
        self.with_spans = False

    @property
    def normaliser(self) -> str:
        """The rules by which the text was made whose bytes are counted; empty where no row says."""
        return next(iter(self.said["normaliser"]), "")

    def conflicts(self) -> Iterator[InputError]:
        """Say where a second system begins."""
        for key, values in self.said.items():
            if len(values) > 1:
                one, other, *_ = values
                what = f"{key!r} is {shorten(other)}, and {shorten(one)} before"
                yield values[other].wrong(what, "a run is of one system: split the file")

    def notes(self) -> Iterator[str]:
        """Say what was left out, or taken for granted."""
        if self.other_events:
            events = ", ".join(f"{n:,} {name}" for name, n in self.other_events.items())
            yield f"rows of other events are left out: {events}"
        ours = self.golden.normaliser
        if self.with_spans and not self.normaliser:
            yield f"no row has 'normaliser'; offsets are taken as those of {ours}"
        elif self.with_spans and self.normaliser != ours:
            yield (
                f"offsets are left out: they count bytes by the rules of {shorten(self.normaliser)}, and those of the "
                f"golden set by {shorten(ours)}"
            )

    def answer(self, row: Row) -> _Answer | None:
        """Give the answer in a row; None where it is none, or wrong, which the reading keeps."""
        event = row.value("event", default=_ANSWERED)
        if event != _ANSWERED:
            self.other_events[shorten(event)] = self.other_events.get(shorten(event), 0) + 1
            return None
        with row:
            row.ignore(*_ENVELOPE, *_NOT_SCORED)
            for key in _SYSTEM:
                if value := row.id(key, default=""):
                    self.said[key].setdefault(value, row)
            query = row.id("qid")
            known = self.golden.query_by_id.get(query)
            return _Answer(
                row=row,
                trace=Trace(
                    query=query,
                    text=row.text("query", default=known.text if known else ""),
                    hits=self._hits(row, query),
                    timings=_timings(row),
                    error=row.text("error", default=""),
                ),
                paraphrase=_natural(row, "paraphrase"),
                seed=_natural(row, "seed"),
            )
        return None

    def _hits(self, row: Row, query: str) -> tuple[Hit, ...]:
        """Give the hits in their order; where one has no score, places stand for all scores."""
        document = row.id("document", "doc", default="")
        if not row.has("error"):
            row.value("topk")
        items = row.list("topk")
        if items and row.has("error"):
            raise row.wrong("has an 'error' and hits in 'topk'", "keep one of them")
        hits, scored = [], True
        for i, item in enumerate(items):
            one = row.nested(item if isinstance(item, dict) else {"id": item}, f"topk[{i}]")
            score = one.number("score", "similarity_score", default=None)
            scored = scored and score is not None
            hits.append(self._hit(one, query, document, score or 0.0))
            one.close()
        return tuple(hits if scored else (replace(hit, score=float(len(hits) - i)) for i, hit in enumerate(hits)))

    def _hit(self, row: Row, query: str, around: str, score: float) -> Hit:
        name = row.id("id", "chunk_id")
        document = row.id("document", "doc", "doc_id", "document_id", "source_entity_id", default=around)
        try:
            part = self.parts.of(name, query, document) if query in self.queries else Part(name)
        except InputError as error:
            raise row.wrong(error.what, error.hint) from None
        span = _span(row)
        self.with_spans = self.with_spans or span is not None
        return Hit(
            name,
            score,
            part.document,
            span,
            section=row.text("section", "section_id", default=part.section),
            block=row.text("block", default=part.block),
            type=row.text("type", "block_type", default=""),
            content=row.text("content", "text", default=""),
            source_hash=row.text("source_hash", default=""),
            tenant=row.text("tenant", default=""),
        )


def queries_of(golden: GoldenSet) -> dict[str, None]:
    """Give the ids of all queries, also of those that are only judged."""
    return dict.fromkeys([*(query.id for query in golden.queries), *(one.query for one in golden.judgments)])


def _span(row: Row) -> Span | None:
    span = row.span("offsets", "span")
    if span is not None and not 0 <= span.start <= span.end:
        raise row.wrong(f"'offsets' is [{span.start}, {span.end}]", "a start is at least 0, and an end not before it")
    return span


def _natural(row: Row, name: str) -> int | None:
    row.ignore(name)
    found = row.integer(name) if row.has(name) else None
    if found is not None and found < 0:
        raise row.wrong(f"{name!r} is {found}", "it is at least 0")
    return found


def _timings(row: Row) -> dict[str, float]:
    """Give milliseconds by stage; a number alone is all of it."""
    if isinstance(row.value(*_LATENCY, default=None), dict):
        stages = row.row(*_LATENCY)
        assert stages is not None
        given = {stage: stages.number(stage, default=None) for stage in row.mapping(*_LATENCY)}
    else:
        given = {"total": row.number(*_LATENCY, default=None)}
    found = {stage: value for stage, value in given.items() if value is not None}
    for stage, value in found.items():
        if value < 0:
            raise row.wrong(f"{shorten(stage)} took {value:g} ms", "a latency is at least 0")
    return found


class _Wordings:
    """Numbers the wordings of each query: what the row says, else the place that the wording has in the golden set.

    A wording that the set does not have gets the first number that is free. So the same texts have the same numbers,
    and a run that asks everything once, in its own words, has one wording.
    """

    def __init__(self, golden: GoldenSet, answers: Sequence[_Answer]) -> None:
        self._golden = golden
        self._others: dict[tuple[str, str], int] = {}
        said = [answer.paraphrase if answer.paraphrase is not None else self._place(answer.trace) for answer in answers]
        taken: dict[str, set[int]] = {}
        for answer, number in zip(answers, said, strict=True):
            taken.setdefault(answer.trace.query, set()).update(() if number is None else (number,))
        self.numbers = [
            self._other(answer.trace, taken[answer.trace.query]) if number is None else number
            for answer, number in zip(answers, said, strict=True)
        ]

    def _texts(self, query: str) -> tuple[str, ...]:
        found = self._golden.query_by_id.get(query)
        # A set without texts has the ids in their place.
        return () if found is None or found.text == found.id else (found.text, *found.paraphrases)

    def _place(self, trace: Trace) -> int | None:
        texts = self._texts(trace.query)
        if trace.text in texts:
            return texts.index(trace.text)
        words = _words(trace.text)
        return next((i for i, text in enumerate(texts) if _words(text) == words), None)

    def _other(self, trace: Trace, taken: set[int]) -> int:
        key = (trace.query, _words(trace.text))
        if key not in self._others:
            self._others[key] = next(number for number in count() if number not in taken)
            taken.add(self._others[key])
        return self._others[key]

    def notes(self) -> Iterator[str]:
        """Say which wordings the golden set does not have."""
        others = [query for query, _ in self._others if self._texts(query)]
        if others:
            yield f"{len(others):,} wordings are not in the golden set, such as one of query {shorten(others[0])}"


def _words(text: str) -> str:
    """Give what two spellings of one wording have in common."""
    return " ".join(_WORD.findall(text.casefold())) or text
