"""Beluga's evaluation dataset: one JSON file with queries.

::

    {"queries": [{"id": "q1", "query": "...", "relevant_doc_ids": ["4", "7"], "graded_relevance": {"4": 3, "3": 1}}]}

- Grades are optional. They go up to the best grade in the file. Without grades the scale is binary.
- See ``_listing`` for what happens if list and grades differ.
- Extensions: ``grades`` and ``relevant`` beside ``queries``, for a set whose scale cannot be inferred from its grades,
  and ``"answerable": false`` in a query that has no answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from karat.core import GoldenSet, Query
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import read_head
from karat.golden.formats._json import Named, read_object, required_rows, write_object
from karat.golden.formats._listing import (
    Draft,
    best_grade,
    best_grades,
    choose_list,
    declare_answerable,
    declare_scale,
    fit_scale,
    graded_queries,
    name_record,
    read_grades,
    read_list,
    read_scale,
    settle,
    target_document,
)
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import HIGHEST, Scale, find_scale, scale_up_to


def _read(path: Path, reading: Reading) -> GoldenSet:
    head = read_object(path, reading)
    drafts = list(_read_drafts(required_rows(head, "queries"), reading))
    meaning = _find_scale(head, drafts, reading, str(path))
    head.close()
    queries, judgments = settle(drafts, meaning, reading, target_document)
    return GoldenSet(name=name_from_path(path), **meaning, queries=queries, judgments=judgments)


def _find_scale(head: Row, drafts: Sequence[Draft], reading: Reading, source: str) -> Scale:
    """Return the scale that the head declares, on which lists and grades agree, or that is guessed from the grades."""
    if not head.has("grades", "relevant") and all(draft.listed is None for draft in drafts):
        return read_scale(head, find_scale(best_grades(drafts), reading, source))
    usual = scale_up_to(best_grade(drafts), "")
    return read_scale(head, fit_scale(drafts, usual) or usual)


def _read_drafts(rows: Iterator[Row], reading: Reading) -> Iterator[Draft]:
    for row in rows:
        with row:
            if not row.has("relevant_doc_ids", "graded_relevance"):
                row.value("relevant_doc_ids")  # raises: it is missing
            yield Draft(
                row=row,
                query=Query(id=row.id("id"), text=row.text("query"), answerable=row.flag("answerable", default=True)),
                listed=read_list(row, reading, "relevant_doc_ids"),
                grades=read_grades(row, "graded_relevance", HIGHEST),
            )


def _write(golden: GoldenSet, path: Path) -> None:
    judged = list(graded_queries(golden, len(golden.grades) - 1))
    top = max((grade for _, grades in judged for grade in grades.values()), default=0)
    write_object(path, declare_scale(golden, scale_up_to(top, "")), {"queries": _queries(golden, judged)})


def _queries(golden: GoldenSet, judged: list[tuple[Query, dict[str, int]]]) -> Iterator[Named]:
    for query, grades in judged:
        relevant = choose_list(query, grades, golden.relevant)
        record = {"id": query.id, "query": query.text, "relevant_doc_ids": relevant, **declare_answerable(query)}
        plain = all(grade == golden.relevant == 1 for grade in grades.values()) and relevant == list(grades)
        yield name_record(query, record if plain else {**record, "graded_relevance": grades})


def _recognise(path: Path) -> bool:
    keys = read_head(path).keys
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
                "query.answerable",
                *("judgment.query", "judgment.target", "judgment.grade", "target.document"),
            }
        ),
    ),
)
