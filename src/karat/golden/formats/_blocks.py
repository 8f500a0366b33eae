"""Gold rows over the blocks of a document (WFGY): JSONL, one question per line.

::

    {"qid": "Q-0137", "paraphrases": ["...", "...", "..."], "relevant": ["S.4.2.p.Bk011a"], "anchor_section": "S.4.2",
     "negatives": ["S.4.1.p.Bk010"], "offsets": {"S.4.2.p.Bk011a": [204611, 205279]}, "normaliser": "karat-1"}

- A row has three wordings and no separate question. Each wording is asked by itself, so the first becomes the query's
  text and the others its paraphrases. Extension: ``query``, a text that is not among them. It is written for a query
  that does not have exactly two paraphrases.
- The ids of blocks are not interpreted here; ``karat.text`` resolves those of the form above. A row names no document:
  the file is called after it. Extension: ``doc`` (or ``document``), always written.
- ``offsets`` are byte spans in canonical text, which the format demands and has no field for. ``normaliser`` names the
  rules by which that text was made.
- Relevant blocks have grade 1 on a binary scale. Extensions: ``grades`` by block, in a set with more grades, and
  ``"answerable": false`` in the row of a query that has no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import NORMALISER, GoldenSet, InputError, Query, Span, Target, check_id, shorten
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._json import Named, read_rows, write_rows
from karat.golden.formats._listing import (
    Draft,
    best_grade,
    check_grade,
    check_queries,
    declare_answerable,
    fit_scale,
    name_record,
    read_grades,
    read_list,
    settle,
)
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import HIGHEST, Scale, scale_up_to

_WORDINGS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question(Draft):
    """A row, with its document and the spans of its blocks."""

    document: str
    offsets: Mapping[str, Span]
    normaliser: str | None


def _read(path: Path, reading: Reading) -> GoldenSet:
    questions = list(_read_questions(path, reading))
    meaning = _find_scale(questions, reading)
    queries, judgments = settle(
        questions, meaning, reading, lambda row, block: _target(row.document, block, row.offsets)
    )
    normaliser = _find_normaliser(questions, reading, path)
    return GoldenSet(name=name_from_path(path), **meaning, normaliser=normaliser, queries=queries, judgments=judgments)


def _read_questions(path: Path, reading: Reading) -> Iterator[_Question]:
    for row in read_rows(path, reading):
        with row:
            row.value("relevant")
            row.ignore("query", "doc", "document", "normaliser")
            relevant, grades = read_list(row, reading, "relevant") or (), read_grades(row, "grades", HIGHEST)
            has_document = row.has("doc", "document")
            document = row.id("doc", "document") if has_document else check_id(name_from_path(path), str(path))
            (text, *paraphrases), negatives = _read_wordings(row), row.ids("negatives")
            offsets = _read_offsets(row, {*relevant, *grades, *negatives})
            yield _Question(
                row=row,
                query=Query(
                    id=row.id("qid"),
                    text=text,
                    paraphrases=tuple(paraphrases),
                    negatives=tuple(_target(document, block, offsets) for block in negatives),
                    answerable=row.flag("answerable", default=True),
                    anchors=tuple(Target(document=document, section=s) for s in row.texts("anchor_section") if s),
                ),
                listed=relevant,
                grades=grades,
                document=document,
                offsets=offsets,
                normaliser=row.text("normaliser") if row.has("normaliser") else None,
            )


def _read_wordings(row: Row) -> tuple[str, ...]:
    """Return the text and the paraphrases. The first wording is the text, unless the row has a separate one."""
    if row.has("query"):
        return row.text("query"), *row.texts("paraphrases")
    row.value("paraphrases")
    wordings = row.texts("paraphrases")
    if not wordings:
        raise row.error("'paraphrases' is empty", "give at least one wording")
    return wordings


def _read_offsets(row: Row, blocks: set[str]) -> dict[str, Span]:
    nested = row.row("offsets")
    offsets = {}
    for block in row.mapping("offsets"):
        assert nested is not None
        if block not in blocks:
            raise nested.error(f"{shorten(block)} is neither in 'relevant' nor in 'negatives'")
        span = nested.span(block)
        if span is None:
            raise nested.error(f"{shorten(block)} has no offsets", "write [start, end] in bytes")
        offsets[block] = span
    return offsets


def _target(document: str, block: str, offsets: Mapping[str, Span]) -> Target:
    return Target(document=document, block=block, span=offsets.get(block))


def _find_scale(questions: Sequence[_Question], reading: Reading) -> Scale:
    """Return the scale on which lists and grades agree, or report every row in which they differ."""
    assumed = scale_up_to(best_grade(questions), "")
    if (fitted := fit_scale(questions, assumed)) is not None:
        return fitted
    for question in questions:
        if not question.agrees(assumed["relevant"]):
            problem = f"'relevant' does not list the blocks with a grade of {assumed['relevant']} or more in 'grades'"
            reading.errors.append(question.row.error(problem))
    return assumed


def _find_normaliser(questions: Sequence[_Question], reading: Reading, path: Path) -> str:
    declared = {question.normaliser: question for question in questions if question.normaliser is not None}
    if len(declared) > 1:
        first, second, *_ = declared
        problem = f"'normaliser' is {shorten(second)}, and was {shorten(first)} before"
        reading.errors.append(declared[second].row.error(problem))
    if not declared and any(question.offsets for question in questions):
        reading.note(f"{path}: no row has 'normaliser'; offsets are taken as those of {NORMALISER}")
    return next(iter(declared)) or "" if declared else NORMALISER


def _write(golden: GoldenSet, path: Path) -> None:
    write_rows(path, _rows(golden))


def _rows(golden: GoldenSet) -> Iterator[Named]:
    check_queries(golden)
    judged: dict[str, dict[Target, int]] = {query.id: {} for query in golden.queries}
    for (query_id, target), grade in golden.decided.items():
        judged[query_id][target] = grade
    for query in golden.queries:
        yield name_record(query, _row(golden, query, judged[query.id]))


def _row(golden: GoldenSet, query: Query, judged: Mapping[Target, int]) -> dict[str, Any]:
    grades: dict[str, int] = {}
    for target, grade in judged.items():
        check_grade(query.id, target.block or str(target), grade, HIGHEST)
        grades[target.block] = max(grade, grades.get(target.block, grade))
    offsets = _collect_offsets(query, (*judged, *query.negatives))
    complete = len(query.paraphrases) == _WORDINGS - 1
    plain = len(golden.grades) == 2 and golden.relevant == 1 and all(grade == 1 for grade in grades.values())
    normaliser = golden.normaliser if offsets or golden.normaliser != NORMALISER else None
    record = {
        "qid": query.id,
        "query": None if complete else query.text,
        "paraphrases": [query.text, *query.paraphrases] if complete else list(query.paraphrases),
        "relevant": [block for block, grade in grades.items() if grade >= golden.relevant],
        "grades": None if plain else grades or None,
        "anchor_section": _anchor(query),
        "negatives": [target.block for target in query.negatives],
        "offsets": offsets or None,
        "normaliser": normaliser,
        "doc": _document(query, judged),
        **declare_answerable(query),
    }
    return {key: value for key, value in record.items() if value is not None}


def _collect_offsets(query: Query, targets: Sequence[Target]) -> dict[str, list[int]]:
    """Return the spans of blocks, each of which may have one."""
    spans: dict[str, Span | None] = {}
    for target in targets:
        if not target.block:
            hint = "convert to a format of documents, such as fit or beir"
            raise _error(query, f"{shorten(str(target))} is not a block", hint)
        if spans.setdefault(check_id(target.block, ""), target.span) != target.span:
            raise _error(query, f"block {shorten(target.block)} has two spans")
    return {block: [span.start, span.end] for block, span in spans.items() if span is not None}


def _anchor(query: Query) -> str | list[str] | None:
    for target in query.anchors:
        if not target.section or target.block or target.span:
            raise _error(query, f"anchor {shorten(str(target))} is not a section")
    sections = [target.section for target in query.anchors]
    return sections if len(sections) > 1 else next(iter(sections), None)


def _document(query: Query, judged: Mapping[Target, int]) -> str | None:
    names = dict.fromkeys(target.document for target in (*judged, *query.negatives, *query.anchors))
    if len(names) > 1:
        first, second, *_ = names
        raise _error(query, f"{shorten(first)} and {shorten(second)} are two documents, and a row names one")
    return check_id(next(iter(names)), f"query {shorten(query.id)}") if names else None


def _error(query: Query, problem: str, hint: str = "") -> InputError:
    return InputError(f"query {shorten(query.id)} cannot be written: {problem}", hint=hint)


def _recognise(path: Path) -> bool:
    return {"qid", "relevant"} <= read_head(path).keys


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
                "query.answerable",
                *("judgment.query", "judgment.target", "judgment.grade"),
                *("target.document", "target.block", "target.span"),
            }
        ),
    ),
)
