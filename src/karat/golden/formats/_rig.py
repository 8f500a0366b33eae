"""The judgments of rig-retrieval-evals: JSONL, one query per line.

::

    {"query_id": "q1", "query": "...", "relevant_docs": {"doc-7": 2, "doc-9": 1}, "reference_answer": "..."}

- Grades are whole numbers from 1 to 255, and a document that is not listed has grade 0. rig also reads a 0 that is
  written out; karat keeps it, because it says that someone looked.
- The file does not say where its scale ends: the scale ends at the best grade, and is karat's if that is 3. On karat's
  four grades relevant begins at 2, as everywhere in karat. To rig itself every grade above 0 is relevant; a note says
  so.
- Extensions: ``"scale": {"grades": [...], "relevant": 2}`` in the first row of a set with another scale, and
  ``"answerable": false`` in the row of a query that has no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import GoldenSet, InputError, Query
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._json import Named, read_rows, write_rows
from karat.golden.formats._listing import (
    Draft,
    best_grades,
    declare_answerable,
    declare_scale,
    graded_queries,
    name_record,
    read_grades,
    read_scale,
    settle,
    target_document,
)
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import HIGHEST, Scale, find_scale, guess_scale, guess_scale_of, scale_up_to


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft(Draft):
    """A row, and the scale that it declares."""

    scale: Scale | None


def _read(path: Path, reading: Reading) -> GoldenSet:
    drafts = list(_read_drafts(path, reading))
    declared = [draft.scale for draft in drafts if draft.scale is not None]
    meaning = declared[0] if declared else _find_scale(drafts, reading, str(path))
    if any(scale != meaning for scale in declared):
        raise InputError("rows declare different scales", source=str(path), hint="keep one 'scale'")
    queries, judgments = settle(drafts, meaning, reading, target_document)
    return GoldenSet(name=name_from_path(path), **meaning, queries=queries, judgments=judgments)


def _find_scale(drafts: Sequence[Draft], reading: Reading, source: str) -> Scale:
    """Return the scale that the project declares, or a guess, with a note where rig itself has another rule."""
    if reading.relevant is not None:
        return find_scale(best_grades(drafts), reading, source)
    guess = guess_scale(best_grades(drafts), source)
    if (start := guess["relevant"]) > 1:
        reading.note(f"{source}: relevant from grade {start} on; to rig itself every grade above 0 is")
    return guess


def _read_drafts(path: Path, reading: Reading) -> Iterator[_Draft]:
    for row in read_rows(path, reading):
        with row:
            row.value("relevant_docs")
            scale = row.row("scale")
            yield _Draft(
                row=row,
                query=Query(
                    id=row.id("query_id"),
                    text=row.text("query"),
                    answer=row.text("reference_answer", default=""),
                    answerable=row.flag("answerable", default=True),
                ),
                listed=None,
                grades=read_grades(row, "relevant_docs", HIGHEST),
                scale=None if scale is None else _read_scale(scale),
            )


def _read_scale(row: Row) -> Scale:
    row.value("grades")
    scale = read_scale(row, scale_up_to(0, ""))
    row.close()
    return scale


def _write(golden: GoldenSet, path: Path) -> None:
    write_rows(path, _rows(golden))


def _rows(golden: GoldenSet) -> Iterator[Named]:
    judged = list(graded_queries(golden, HIGHEST))
    scale = declare_scale(golden, guess_scale_of(golden))
    for i, (query, grades) in enumerate(judged):
        record: dict[str, Any] = {"query_id": query.id, "query": query.text, "relevant_docs": grades}
        record |= {"reference_answer": query.answer} if query.answer else {}
        record |= declare_answerable(query)
        yield name_record(query, {**record, "scale": scale} if scale and i == 0 else record)


def _recognise(path: Path) -> bool:
    return {"query_id", "relevant_docs"} <= read_head(path).keys


FORMATS.add(
    "rig",
    Format(
        name="rig",
        summary="JSONL: query_id, query, relevant_docs with grades, reference_answer",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "set.grades", "set.relevant"),
                *("query.id", "query.text", "query.answer", "query.answerable"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
