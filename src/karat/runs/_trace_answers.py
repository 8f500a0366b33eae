"""Answers in a retriever's log: rows of their own that are joined to what was retrieved, and where they cite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from karat.core import Citation, Hit, InputError, Trace, shorten
from karat.runs._parts import Parts

ANSWER_EVENT = "answer.decide"
"""The event of a row with an answer, in a log that has other events too."""
_Key = tuple[str, str, str, int | None]


class NamelessCitation(Citation):
    """A citation whose document the log does not name, until :func:`place_citations` finds it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A row of a log as a trace, before wordings and seeds are numbered."""

    line: int | None  # and not the row: of a large file that would keep all of it
    trace: Trace
    paraphrase: int | None
    seed: int | None


def join_answers(records: Sequence[Record], answers: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """Return the records with the answers to them, and notes on answers that have no place.

    An answer belongs to the row with the same query, words, seed and trace id.
    """
    places = {_key(record): place for place, record in enumerate(records)}
    joined, lost, twice = list(records), 0, 0
    for answer in answers:
        place = places.get(_key(answer))
        if place is None:
            lost += 1
        elif _has_answer(joined[place].trace):
            twice += 1
        else:
            joined[place] = replace(joined[place], trace=_add(joined[place].trace, answer.trace))
    notes = [f"{lost:,} rows of '{ANSWER_EVENT}' belong to no row with hits, and are left out"] if lost else []
    notes += [f"{twice:,} rows of '{ANSWER_EVENT}' are second answers, and are left out"] if twice else []
    return joined, notes


def _key(record: Record) -> _Key:
    return record.trace.query, record.trace.text, str(record.trace.envelope.get("trace_id", "")), record.seed


def _has_answer(trace: Trace) -> bool:
    return bool(trace.answer or trace.citations or trace.refused)


def _add(trace: Trace, answer: Trace) -> Trace:
    return replace(
        trace,
        answer=answer.answer,
        citations=answer.citations,
        refused=answer.refused,
        telemetry={**trace.telemetry, **answer.telemetry},
    )


def place_citations(records: Iterable[Record], parts: Parts, source: str) -> Iterator[Record | InputError]:
    """Yield the records with the documents and parts that cited ids name, or an error for an ambiguous one."""
    for record in records:
        hits = {hit.id: hit for hit in reversed(record.trace.hits)}
        try:
            placed = tuple(_place(citation, record.trace.query, hits, parts) for citation in record.trace.citations)
        except InputError as error:
            yield InputError(error.what, source=source, line=record.line, hint=error.hint)
        else:
            yield replace(record, trace=replace(record.trace, citations=placed)) if placed else record


def _place(citation: Citation, query: str, hits: Mapping[str, Hit], parts: Parts) -> Citation:
    if not isinstance(citation, NamelessCitation):
        return citation
    if hit := hits.get(citation.id):
        return Citation(citation.id, hit.document, citation.span, citation.section, citation.block)
    part = parts.of(citation.id, query)
    section, block = citation.section or part.section, citation.block or part.block
    return Citation(citation.id, part.document, citation.span, section, block)


def describe_events(events: Mapping[str, int]) -> Iterator[str]:
    """Yield a note on rows of events that are not read."""
    if events:
        yield f"rows of other events are left out: {', '.join(f'{n:,} {shorten(name)}' for name, n in events.items())}"
