"""The judgments of rig-retrieval-evals: JSONL, one query per line.

::

    {"query_id": "q1", "query": "...", "relevant_docs": {"doc-7": 2, "doc-9": 1}, "reference_answer": "..."}

- Grades are whole numbers from 1 to 255, and a document that is not listed has grade 0. rig also reads a 0 that is
  written out; karat keeps it, because it says that someone looked.
- The file does not say where its scale ends: the scale is binary if no grade is above 1, has karat's four grades if
  none is above 3, and otherwise ends at the best grade. On four grades relevant begins at 2, as everywhere in karat. To
  rig itself every grade above 0 is relevant; a note says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from karat.core import GoldenSet, Query
from karat.files import Reading
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._json import Named, read_rows, write_rows
from karat.golden.formats._listing import (
    Draft,
    best_grade,
    graded_queries,
    infer_scale,
    name_record,
    read_grades,
    settle,
    target_document,
)
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import HIGHEST


def _read(path: Path, reading: Reading) -> GoldenSet:
    drafts = list(_read_drafts(path, reading))
    meaning = infer_scale(best_grade(drafts))
    if meaning["relevant"] > 1:
        reading.note(f"{path}: relevant from grade {meaning['relevant']} on; to rig itself every grade above 0 is")
    queries, judgments = settle(drafts, meaning, reading, target_document)
    return GoldenSet(name=name_from_path(path), **meaning, queries=queries, judgments=judgments)


def _read_drafts(path: Path, reading: Reading) -> Iterator[Draft]:
    for row in read_rows(path, reading):
        with row:
            row.value("relevant_docs")
            yield Draft(
                row=row,
                query=Query(
                    id=row.id("query_id"), text=row.text("query"), answer=row.text("reference_answer", default="")
                ),
                listed=None,
                grades=read_grades(row, "relevant_docs", HIGHEST),
            )


def _write(golden: GoldenSet, path: Path) -> None:
    write_rows(path, _rows(golden))


def _rows(golden: GoldenSet) -> Iterator[Named]:
    for query, grades in graded_queries(golden, HIGHEST):
        record = {"query_id": query.id, "query": query.text, "relevant_docs": grades}
        yield name_record(query, {**record, "reference_answer": query.answer} if query.answer else record)


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
                *("set.queries", "set.judgments", "query.id", "query.text", "query.answer"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
