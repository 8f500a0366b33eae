"""Trace files: what a retriever logged, one answer per line.

::

    {"qid": "Q-0137", "query": "Explain symbolic constraint unlock.", "seed": 1,
     "topk": [{"id": "S.4.2.p.Bk011a", "score": 0.83, "offsets": [204611, 205279], "type": "prose"}],
     "index_hash": "faiss:v3:hnsw:cos", "normaliser": "karat-1", "latency_ms": 12.5}

Only ``qid`` and ``topk`` are required. What else a log has (stages, channels, session, citations, telemetry, an
envelope) is kept: see :mod:`karat.runs._trace_details`. A query may be answered in several wordings of the golden set
and with several seeds. The order of ``topk`` is the ranking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.core import GoldenSet, Hit, InputError, Span, Trace, shorten
from karat.files import Reading
from karat.measures import HIT_FIELDS, STAGE_SCORES, TRACE_FIELDS
from karat.runs._parts import Part, Parts
from karat.runs._trace_answers import ANSWER_EVENT, Record, describe_events, join_answers, place_citations
from karat.runs._trace_details import read_channels, read_details, read_latencies
from karat.schema import LONGEST
from karat.traces import TRACE_EVENT, sum_times

if TYPE_CHECKING:
    from karat.files import Row

_SYSTEM = ("index_hash", "metric", "analyzer", "embed_model", "reranker", "build", "normaliser")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun:
    """The contents of a file, for one golden set."""

    traces: tuple[Trace, ...]
    """The answers to queries of the set."""
    strangers: tuple[str, ...]
    """The queries that the golden set does not have."""
    system: Mapping[str, str] = field(default_factory=dict)
    """What the answers say about the system."""
    settings: Mapping[str, Any] = field(default_factory=lambda: {"paraphrases": False, "repeat": 1})
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    """What was assumed about k, if the file does not say it."""


def read_trace_file(path: str | Path, golden: GoldenSet) -> ForeignRun:
    """Return the answers of a trace file, or raise an error that lists all of its mistakes."""
    reading, rows = Reading(), _Rows(golden)
    records = [record for row in reading.jsonl(path) if (record := rows.read_record(row)) is not None]
    records, notes = join_answers(records, rows.answers)
    placed = list(place_citations(records, rows.parts, str(path)))
    records = [record for record in placed if isinstance(record, Record)]
    reading.errors += [*rows.conflicts(), *(error for error in placed if isinstance(error, InputError))]
    reading.finish()
    expected = [record for record in records if record.trace.query in rows.queries]
    seeds = sorted({record.seed for record in expected}, key=lambda seed: -1 if seed is None else seed)
    repeat_of = {seed: repeat for repeat, seed in enumerate(seeds)}
    wordings = _Wordings(golden, expected)
    traces: dict[tuple[str, int, int], Trace] = {}
    for record, paraphrase in zip(expected, wordings.numbers, strict=True):
        key = (record.trace.query, paraphrase, repeat_of[record.seed])
        if key in traces:
            reading.errors.append(_repeated(record, str(path)))
        traces[key] = replace(record.trace, paraphrase=paraphrase, repeat=key[2])
    reading.finish()
    comparable = rows.normaliser in ("", golden.normaliser)
    for note in (*rows.notes(), *notes, *wordings.notes(), *_note_uneven(traces)):
        reading.note(f"{path}: {note}")
    return ForeignRun(
        traces=tuple(traces.values() if comparable else map(_without_spans, traces.values())),
        strangers=tuple(dict.fromkeys(a.trace.query for a in records if a.trace.query not in rows.queries)),
        system={key: next(iter(values)) for key, values in rows.system.items() if values},
        settings={
            "paraphrases": any(trace.paraphrase for trace in traces.values()),
            "repeat": len(seeds),
            **({} if seeds == [None] else {"seeds": seeds}),
        },
        notes=reading.notes(),
    )


def _repeated(record: Record, source: str) -> InputError:
    seed = "" if record.seed is None else f" and with seed {record.seed}"
    problem = f"query {shorten(record.trace.query)} is answered twice in the same words{seed}"
    hint = "keep one of them, or give each its own 'seed', a whole number"
    return InputError(problem, source=source, line=record.line, hint=hint)


def _without_spans(trace: Trace) -> Trace:
    return replace(
        trace,
        hits=tuple(replace(hit, span=None) for hit in trace.hits),
        stages=tuple(
            replace(stage, hits=tuple(replace(hit, span=None) for hit in stage.hits)) for stage in trace.stages
        ),
        citations=tuple(replace(citation, span=None) for citation in trace.citations),
    )


def _note_uneven(traces: Mapping[tuple[str, int, int], Trace]) -> Iterator[str]:
    """Yield a note if some queries were asked more often than others."""
    times: dict[str, int] = {}
    for query, _, _ in traces:
        times[query] = times.get(query, 0) + 1
    if len(set(times.values())) > 1:
        few = min(times, key=lambda query: times[query])
        yield (
            f"queries have {times[few]:,} (such as {shorten(few)}) to {max(times.values()):,} answers, "
            "by wording and seed; the score of a query is the mean over its own"
        )


class _Rows:
    """Reads rows, and collects what they say about the system."""

    def __init__(self, golden: GoldenSet) -> None:
        self.golden = golden
        self.queries = queries_of(golden)
        self.parts = Parts(golden)
        self.system: dict[str, dict[str, Row]] = {key: {} for key in _SYSTEM}
        """The values of each field, with the first row that has them."""
        self.other_events: dict[str, int] = {}
        self.answers: list[Record] = []
        """Of rows of their own, which have no hits."""
        self.with_spans = False
        self.with_metadata = 0

    @property
    def normaliser(self) -> str:
        """The normaliser of the text whose bytes are counted, or an empty text if no row names it."""
        return next(iter(self.system["normaliser"]), "")

    def conflicts(self) -> Iterator[InputError]:
        """Yield an error for each row at which a second system begins."""
        for key, values in self.system.items():
            if len(values) > 1:
                first, second, *_ = values
                problem = f"{key!r} is {shorten(second)}, and was {shorten(first)} before"
                yield values[second].error(problem, "a run has one system: split the file")

    def notes(self) -> Iterator[str]:
        """Yield notes on what was left out or assumed."""
        yield from describe_events(self.other_events)
        if self.with_metadata:
            yield f"the 'metadata' of {self.with_metadata:,} hits is not kept"
        ours = self.golden.normaliser
        if self.with_spans and not self.normaliser:
            yield f"no row has 'normaliser'; offsets are taken as those of {ours}"
        elif self.with_spans and self.normaliser != ours:
            yield (
                f"offsets are left out: they count bytes of text made by {shorten(self.normaliser)}, and the golden "
                f"set's was made by {shorten(ours)}"
            )

    def read_record(self, row: Row) -> Record | None:
        """Return the record of a row, or None if it has none or is wrong. The reading collects the mistake."""
        event = row.value("event", default=TRACE_EVENT)
        is_answer = event == ANSWER_EVENT and not row.has("topk")
        if event not in (TRACE_EVENT, ANSWER_EVENT):
            self.other_events[str(event)] = self.other_events.get(str(event), 0) + 1
            return None
        with row:
            for key in _SYSTEM:
                if value := row.id(key, default=""):
                    self.system[key].setdefault(value, row)
            query = row.id("qid")
            match = self.golden.query_by_id.get(query)
            details = read_details(row, lambda stage, key: self._read_list(stage, query, key))
            record = Record(
                line=row.line,
                trace=Trace(
                    query=query,
                    text=row.text("query", default=match.text if match else ""),
                    hits=() if is_answer else self._read_hits(row, query),
                    timings={**sum_times(details["stages"]), **read_latencies(row), **_read_timings(row)},
                    error=row.text("error", default=""),
                    **details,
                ),
                paraphrase=_read_natural(row, "paraphrase"),
                seed=_read_natural(row, "seed"),
            )
            if not is_answer:
                return record
            self.answers.append(record)
        return None

    def _read_hits(self, row: Row, query: str) -> tuple[Hit, ...]:
        """Return the hits in their order. If one of them has no score, all get scores by their ranks."""
        document = row.id(*TRACE_FIELDS["document"], default="")
        if not row.has("error"):
            row.value("topk")
        if row.list("topk") and row.has("error"):
            raise row.error("has an 'error' and hits in 'topk'", "keep one of them")
        return self._read_list(row, query, "topk", document)

    def _read_list(self, row: Row, query: str, key: str, document: str = "") -> tuple[Hit, ...]:
        hits, scored = [], True
        for i, item in enumerate(row.list(key)):
            nested = row.nested(item if isinstance(item, dict) else {"id": item}, f"{key}[{i}]")
            score = nested.number(*HIT_FIELDS["score"], default=None)
            scored = scored and score is not None
            hits.append(self._read_hit(nested, query, document, score or 0.0))
            nested.close()
        return tuple(hits if scored else (replace(hit, score=float(len(hits) - i)) for i, hit in enumerate(hits)))

    def _read_hit(self, row: Row, query: str, parent: str, score: float) -> Hit:
        name = row.id(*HIT_FIELDS["id"])
        document = row.id(*HIT_FIELDS["document"], default=parent)
        try:
            part = self.parts.of(name, query, document) if query in self.queries else Part(name)
        except InputError as error:
            raise row.error(error.what, error.hint) from None
        span = _read_span(row)
        self.with_metadata += row.has("metadata")
        row.ignore("metadata")
        self.with_spans = self.with_spans or span is not None
        return Hit(
            name,
            score,
            part.document,
            span,
            section=row.text(*HIT_FIELDS["section"], default=part.section),
            block=row.text("block", default=part.block),
            type=row.text(*HIT_FIELDS["type"], default=""),
            content=row.text(*HIT_FIELDS["content"], default=""),
            source_hash=row.text("source_hash", default=""),
            tenant=row.text("tenant", default=""),
            locator=_read_locator(row),
            channels=read_channels(row),
            stages=_read_stages(row),
        )


def queries_of(golden: GoldenSet) -> dict[str, None]:
    """Return the ids of all queries, including those that are only judged."""
    return dict.fromkeys([*(query.id for query in golden.queries), *(judgment.query for judgment in golden.judgments)])


def _read_locator(row: Row) -> str:
    """Return where a hit is in its source. A locator that is not text is kept as JSON."""
    locator = row.value("locator", default="")
    return row.text("locator", default="") if isinstance(locator, str) else json.dumps(locator, ensure_ascii=False)


def _read_stages(row: Row) -> dict[str, float]:
    """Return the scores of a reranked hit by stage, or none for a hit that has one score."""
    scores = {stage: row.number(name, default=None) for stage, name in STAGE_SCORES.items()}
    stages = {stage: score for stage, score in scores.items() if score is not None}
    return stages if stages.keys() - {"similarity"} else {}


def _read_span(row: Row) -> Span | None:
    span = row.span(*HIT_FIELDS["span"])
    if span is not None and not 0 <= span.start <= span.end:
        raise row.error(
            f"'offsets' is [{span.start}, {span.end}]", "it should begin at 0 or later, and not end before it begins"
        )
    return span


def _read_natural(row: Row, name: str) -> int | None:
    row.ignore(name)
    number = row.integer(name) if row.has(name) else None
    if number is not None and number < 0:
        raise row.error(f"{name!r} is {number}", "it should be 0 or above")
    return number


def _read_timings(row: Row) -> dict[str, float]:
    """Return milliseconds by stage. A number alone is the total."""
    if isinstance(row.value(*TRACE_FIELDS["latency"], default=None), dict):
        stages = row.row(*TRACE_FIELDS["latency"])
        assert stages is not None
        values = {stage: stages.number(stage, default=None) for stage in row.mapping(*TRACE_FIELDS["latency"])}
    else:
        values = {"total": row.number(*TRACE_FIELDS["latency"], default=None)}
    timings = {stage: value for stage, value in values.items() if value is not None}
    for stage, value in timings.items():
        if not 0 <= value <= LONGEST:
            limit = "0 or above" if value < 0 else f"at most {LONGEST:g}"
            raise row.error(f"{shorten(stage)} took {value:g} ms", f"a latency should be {limit}")
    return timings


class _Wordings:
    """The numbers of the wordings of each query: the row's own number, else the place of the wording in the golden set.

    A wording that the set does not have gets the first free number. So the same texts have the same numbers, and a run
    that asks everything once, in its own words, has one wording.
    """

    def __init__(self, golden: GoldenSet, records: Sequence[Record]) -> None:
        self._golden = golden
        self._others: dict[tuple[str, str], int] = {}
        self._places: dict[str, dict[tuple[str, bool], int]] = {}
        self._free: dict[str, Iterator[int]] = {}
        numbers = [
            record.paraphrase if record.paraphrase is not None else self._find_place(record.trace) for record in records
        ]
        used: dict[str, set[int]] = {}
        for record, number in zip(records, numbers, strict=True):
            used.setdefault(record.trace.query, set()).update(() if number is None else (number,))
        self.numbers = [
            self._assign_place(record.trace, used[record.trace.query]) if number is None else number
            for record, number in zip(records, numbers, strict=True)
        ]

    def _texts(self, query: str) -> tuple[str, ...]:
        match = self._golden.query_by_id.get(query)
        # In a set without texts, the text of a query is its id.
        return () if match is None or match.text == match.id else (match.text, *match.paraphrases)

    def _find_place(self, trace: Trace) -> int | None:
        """Return which wording of its query a trace has: in the same letters, or else in the same words."""
        places = self._places.get(trace.query)
        if places is None:
            places = self._places[trace.query] = {}
            for place, text in enumerate(texts := self._texts(trace.query)):
                places.setdefault((text, False), place)
            for place, text in enumerate(texts):
                places.setdefault((_fold(text), True), place)
        return places.get((trace.text, False), places.get((_fold(trace.text), True)))

    def _assign_place(self, trace: Trace, used: set[int]) -> int:
        key = (trace.query, _fold(trace.text))
        if key not in self._others:
            free = self._free.setdefault(trace.query, count())
            self._others[key] = next(number for number in free if number not in used)
        return self._others[key]

    def notes(self) -> Iterator[str]:
        """Yield a note on wordings that the golden set does not have."""
        others = [query for query, _ in self._others if self._texts(query)]
        if others:
            yield f"{len(others):,} wordings are not in the golden set, such as one of query {shorten(others[0])}"


def _fold(text: str) -> str:
    """Return the words of a text in lower case, so that two spellings of a wording are equal."""
    return " ".join(_WORD.findall(text.casefold())) or text
