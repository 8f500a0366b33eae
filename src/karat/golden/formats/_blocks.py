"""Gold rows over the blocks of a document (WFGY): JSONL, one question a line.

::

    {"qid": "Q-0137", "paraphrases": ["...", "...", "..."], "relevant": ["S.4.2.p.Bk011a"], "anchor_section": "S.4.2",
     "negatives": ["S.4.1.p.Bk010"], "offsets": {"S.4.2.p.Bk011a": [204611, 205279]}, "normaliser": "karat-1"}

- A row has three wordings and no question apart from them. Each is asked by itself, so the first is the query's text
  and the others are its paraphrases. Extension: ``query``, a text that is not among them; it is written where a query
  has not two paraphrases, so that a text with three of them makes a row of three wordings as well.
- Ids of blocks mean nothing here; ``karat.golden`` can take those apart that have the form above. A row names no
  document: it is the one that the file is called after. Extension: ``doc`` (or ``document``), always written.
- ``offsets`` are byte spans in canonical text, which the format asks for and has no field for, and ``normaliser`` says
  by which rules that text was made.
- What is relevant has grade 1 on a binary scale. Extension: ``grades``, by block, in a set with more than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import NORMALISER, GoldenSet, InputError, Query, Span, Target, check_id, shorten
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import head
from karat.golden.formats._json import Named, some_rows, write_rows
from karat.golden.formats._listing import (
    HIGHEST,
    Draft,
    best,
    check_grade,
    check_queries,
    fitting,
    grades_of,
    inferred,
    listed,
    named,
    settled,
)
from karat.golden.formats._records import name_of
from karat.golden.formats._scale import Scale

_WORDINGS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question(Draft):
    """A row, with what it says of its document."""

    document: str
    offsets: Mapping[str, Span]
    normaliser: str | None


def _read(path: Path, reading: Reading) -> GoldenSet:
    questions = list(_questions(path, reading))
    meaning = _meaning(questions, reading)
    queries, judgments = settled(
        questions, meaning, reading, lambda row, block: _block(row.document, block, row.offsets)
    )
    rules = _normaliser(questions, reading, path)
    return GoldenSet(name=name_of(path), **meaning, normaliser=rules, queries=queries, judgments=judgments)


def _questions(path: Path, reading: Reading) -> Iterator[_Question]:
    for row in some_rows(path, reading):
        with row:
            row.value("relevant")
            row.ignore("query", "doc", "document", "normaliser")
            relevant, grades = listed(row, reading, "relevant") or (), grades_of(row, "grades", HIGHEST)
            apart = row.has("doc", "document")
            document = row.id("doc", "document") if apart else check_id(name_of(path), str(path))
            (text, *paraphrases), negatives = _wordings(row), row.ids("negatives")
            offsets = _offsets(row, {*relevant, *grades, *negatives})
            yield _Question(
                row=row,
                query=Query(
                    id=row.id("qid"),
                    text=text,
                    paraphrases=tuple(paraphrases),
                    negatives=tuple(_block(document, block, offsets) for block in negatives),
                    anchors=tuple(Target(document=document, section=s) for s in row.texts("anchor_section") if s),
                ),
                listed=relevant,
                grades=grades,
                document=document,
                offsets=offsets,
                normaliser=row.text("normaliser") if row.has("normaliser") else None,
            )


def _wordings(row: Row) -> tuple[str, ...]:
    """Give the text and the paraphrases: the first wording is the text, unless the row has one by itself."""
    if row.has("query"):
        return row.text("query"), *row.texts("paraphrases")
    row.value("paraphrases")
    wordings = row.texts("paraphrases")
    if not wordings:
        raise row.error("'paraphrases' is empty", "give at least one wording")
    return wordings


def _offsets(row: Row, blocks: set[str]) -> dict[str, Span]:
    nested = row.row("offsets")
    found = {}
    for block in row.mapping("offsets"):
        assert nested is not None
        if block not in blocks:
            raise nested.error(f"{shorten(block)} is neither in 'relevant' nor in 'negatives'")
        span = nested.span(block)
        if span is None:
            raise nested.error(f"{shorten(block)} has none", "write [start, end] in bytes")
        found[block] = span
    return found


def _block(document: str, block: str, offsets: Mapping[str, Span]) -> Target:
    return Target(document=document, block=block, span=offsets.get(block))


def _meaning(questions: Sequence[_Question], reading: Reading) -> Scale:
    """Give the scale; relevant begins where lists and grades agree that it does."""
    found = inferred(best(questions))
    if (agreed := fitting(questions, found)) is not None:
        return agreed
    for question in questions:
        if not question.agrees(found["relevant"]):
            what = f"'relevant' is not what has a grade of {found['relevant']} or more in 'grades'"
            reading.errors.append(question.row.error(what))
    return found


def _normaliser(questions: Sequence[_Question], reading: Reading, path: Path) -> str:
    said = {question.normaliser: question for question in questions if question.normaliser is not None}
    if len(said) > 1:
        one, other, *_ = said
        reading.errors.append(said[other].row.error(f"'normaliser' is {shorten(other)}, and {shorten(one)} before"))
    if not said and any(question.offsets for question in questions):
        reading.note(f"{path}: no row has 'normaliser'; offsets are taken as those of {NORMALISER}")
    return next(iter(said)) or "" if said else NORMALISER


def _write(golden: GoldenSet, path: Path) -> None:
    write_rows(path, _rows(golden))


def _rows(golden: GoldenSet) -> Iterator[Named]:
    check_queries(golden)
    judged: dict[str, dict[Target, int]] = {query.id: {} for query in golden.queries}
    for (query_id, target), grade in golden.decided.items():
        judged[query_id][target] = grade
    for query in golden.queries:
        yield named(query, _row(golden, query, judged[query.id]))


def _row(golden: GoldenSet, query: Query, judged: Mapping[Target, int]) -> dict[str, Any]:
    grades: dict[str, int] = {}
    for target, grade in judged.items():
        check_grade(query.id, target.block or str(target), grade, HIGHEST)
        grades[target.block] = max(grade, grades.get(target.block, grade))
    offsets = _written_offsets(query, (*judged, *query.negatives))
    together = len(query.paraphrases) == _WORDINGS - 1
    plain = len(golden.grades) == 2 and golden.relevant == 1 and all(grade == 1 for grade in grades.values())
    rules = golden.normaliser if offsets or golden.normaliser != NORMALISER else None
    record = {
        "qid": query.id,
        "query": None if together else query.text,
        "paraphrases": [query.text, *query.paraphrases] if together else list(query.paraphrases),
        "relevant": [block for block, grade in grades.items() if grade >= golden.relevant],
        "grades": None if plain else grades or None,
        "anchor_section": _anchor(query),
        "negatives": [target.block for target in query.negatives],
        "offsets": offsets or None,
        "normaliser": rules,
        "doc": _document(query, judged),
    }
    return {key: value for key, value in record.items() if value is not None}


def _written_offsets(query: Query, targets: Sequence[Target]) -> dict[str, list[int]]:
    """Give the spans of blocks, of which each has one."""
    spans: dict[str, Span | None] = {}
    for target in targets:
        if not target.block:
            hint = "convert to a format of documents, such as fit or beir"
            raise _wrong(query, f"{shorten(str(target))} is no block", hint)
        if spans.setdefault(check_id(target.block, ""), target.span) != target.span:
            raise _wrong(query, f"block {shorten(target.block)} has two spans")
    return {block: [span.start, span.end] for block, span in spans.items() if span is not None}


def _anchor(query: Query) -> str | list[str] | None:
    for target in query.anchors:
        if not target.section or target.block or target.span:
            raise _wrong(query, f"anchor {shorten(str(target))} is no section")
    sections = [target.section for target in query.anchors]
    return sections if len(sections) > 1 else next(iter(sections), None)


def _document(query: Query, judged: Mapping[Target, int]) -> str | None:
    names = dict.fromkeys(target.document for target in (*judged, *query.negatives, *query.anchors))
    if len(names) > 1:
        one, other, *_ = names
        raise _wrong(query, f"{shorten(one)} and {shorten(other)} are two documents, and a row speaks of one")
    return check_id(next(iter(names)), f"query {shorten(query.id)}") if names else None


def _wrong(query: Query, what: str, hint: str = "") -> InputError:
    return InputError(f"query {shorten(query.id)} cannot be written: {what}", hint=hint)


def _recognise(path: Path) -> bool:
    return {"qid", "relevant"} <= head(path).keys


FORMATS.add(
    "blocks",
    Format(
        name="blocks",
        summary="JSONL: qid, paraphrases, relevant blocks, anchor_section, negatives, offsets",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "set.normaliser"),
                *("query.id", "query.text", "query.paraphrases", "query.negatives", "query.anchors"),
                *("judgment.query", "judgment.target", "judgment.grade"),
                *("target.document", "target.block", "target.span"),
            }
        ),
    ),
)
