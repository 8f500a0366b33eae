"""Beluga's evaluation dataset: one JSON file with queries.

::

    {"queries": [{"id": "q1", "query": "...", "relevant_doc_ids": ["4", "7"], "graded_relevance": {"4": 3, "3": 1}}]}

- Grades are optional, and go from 0 to 3, or as far as the best grade that is there. Without any the scale is binary.
- See ``_listing`` for what happens where list and grades differ.
- Extension: ``grades`` and ``relevant`` beside ``queries``, for a set whose scale is not the one that its grades show.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from karat.core import GoldenSet, Query
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import head
from karat.golden.formats._json import Named, json_object, rows, write_object
from karat.golden.formats._listing import (
    HIGHEST,
    Draft,
    best,
    declaration,
    declared,
    fitting,
    graded_queries,
    grades_of,
    inferred,
    list_of,
    listed,
    named,
    settled,
    whole,
)
from karat.golden.formats._records import name_of


def _read(path: Path, reading: Reading) -> GoldenSet:
    given = json_object(path, reading)
    drafts = list(_drafts(rows(given, "queries"), reading))
    assumed = inferred(best(drafts))
    meaning = declared(given, fitting(drafts, assumed) or assumed)
    given.close()
    queries, judgments = settled(drafts, meaning, reading, whole)
    return GoldenSet(name=name_of(path), **meaning, queries=queries, judgments=judgments)


def _drafts(rows: Iterator[Row], reading: Reading) -> Iterator[Draft]:
    for row in rows:
        with row:
            if not row.has("relevant_doc_ids", "graded_relevance"):
                row.value("relevant_doc_ids")  # is missing, and says so
            yield Draft(
                row=row,
                query=Query(id=row.id("id"), text=row.text("query")),
                listed=listed(row, reading, "relevant_doc_ids"),
                grades=grades_of(row, "graded_relevance", HIGHEST),
            )


def _write(golden: GoldenSet, path: Path) -> None:
    judged = list(graded_queries(golden, len(golden.grades) - 1))
    top = max((grade for _, grades in judged for grade in grades.values()), default=0)
    write_object(path, declaration(golden, inferred(top)), {"queries": _queries(golden, judged)})


def _queries(golden: GoldenSet, judged: list[tuple[Query, dict[str, int]]]) -> Iterator[Named]:
    for query, grades in judged:
        relevant = list_of(query, grades, golden.relevant)
        record = {"id": query.id, "query": query.text, "relevant_doc_ids": relevant}
        plain = all(grade == golden.relevant == 1 for grade in grades.values()) and relevant == list(grades)
        yield named(query, record if plain else {**record, "graded_relevance": grades})


def _recognise(path: Path) -> bool:
    keys = head(path).keys
    return "entities" not in keys and {"queries[].id", "queries[].query"} <= keys


FORMATS.add(
    "beluga",
    Format(
        name="beluga",
        summary="one JSON file: queries with relevant_doc_ids and graded_relevance",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "set.grades", "set.relevant", "query.id", "query.text"),
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
