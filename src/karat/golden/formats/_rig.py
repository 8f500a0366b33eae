"""rig-retrieval-evals' judgments: JSONL, one query a line.

::

    {"query_id": "q1", "query": "...", "relevant_docs": {"doc-7": 2, "doc-9": 1}, "reference_answer": "..."}

- Grades are whole numbers from 1 to 255, and what is not listed has 0. A 0 that is written out says the same to rig,
  which reads it; karat keeps it, because it says that someone looked.
- Nothing says how far the scale goes: it is binary where no grade is above 1, has karat's four grades where none is
  above 3, and ends at the best grade otherwise. On four grades relevant begins at 2, as everywhere in karat. To rig
  itself every grade above 0 is relevant; a note says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from karat.core import GoldenSet, Query
from karat.files import Reading
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import head
from karat.golden.formats._json import Named, some_rows, write_rows
from karat.golden.formats._listing import (
    HIGHEST,
    Draft,
    best,
    graded_queries,
    grades_of,
    inferred,
    named,
    settled,
    whole,
)
from karat.golden.formats._records import name_of


def _read(path: Path, reading: Reading) -> GoldenSet:
    drafts = list(_drafts(path, reading))
    meaning = inferred(best(drafts))
    if meaning["relevant"] > 1:
        reading.note(f"{path}: relevant from grade {meaning['relevant']} on; to rig itself every grade above 0 is")
    queries, judgments = settled(drafts, meaning, reading, whole)
    return GoldenSet(name=name_of(path), **meaning, queries=queries, judgments=judgments)


def _drafts(path: Path, reading: Reading) -> Iterator[Draft]:
    for row in some_rows(path, reading):
        with row:
            row.value("relevant_docs")
            yield Draft(
                row=row,
                query=Query(
                    id=row.id("query_id"), text=row.text("query"), answer=row.text("reference_answer", default="")
                ),
                listed=None,
                grades=grades_of(row, "relevant_docs", HIGHEST),
            )


def _write(golden: GoldenSet, path: Path) -> None:
    write_rows(path, _rows(golden))


def _rows(golden: GoldenSet) -> Iterator[Named]:
    for query, grades in graded_queries(golden, HIGHEST):
        record = {"query_id": query.id, "query": query.text, "relevant_docs": grades}
        yield named(query, {**record, "reference_answer": query.answer} if query.answer else record)


def _recognise(path: Path) -> bool:
    return {"query_id", "relevant_docs"} <= head(path).keys


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
