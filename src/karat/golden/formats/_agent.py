"""Agent memory's evaluation queries (Spec-Kit Memory): EvalQuery records with EvalJudgment records inside.

::

    {"queries": [{"queryId": "q1", "query": "...", "intent": "...", "category": "causal-query",
                  "sessionContext": {"sessionId": "s1", "workingMemoryIds": [7, 9], "turnNumber": 3},
                  "judgments": [{"memoryId": 7, "relevance": 3, "sourceChannels": ["bm25"], "annotator": "ana",
                                 "confidence": 0.9}],
                  "judgmentSource": "manual", "harvestedAt": null}]}

- A list of such records and JSONL are read as well.
- Memory ids are numbers, which are text in karat; ids that are such numbers are written as numbers, others as text.
- ``judgmentSource`` is one of three and speaks for all judgments of a query. The format's own database has a fourth,
  ``validated``, and one per judgment. So ``source`` in a judgment is an extension, written where it differs.
- Relevance goes from 0 to 3. Extension: ``grades`` and ``relevant`` beside ``queries`` declare another scale.
- Judgments of several parts of one memory become one, with the grade that the memory has in karat.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from karat.core import (
    GRADES,
    SOURCES,
    GoldenSet,
    InputError,
    Judgment,
    Query,
    Session,
    Source,
    Target,
    check_id,
    did_you_mean,
    shorten,
)
from karat.files import Reading, Row
from karat.golden._format import FORMATS, Format
from karat.golden.formats._head import head
from karat.golden.formats._json import Named, Record, json_value, rows, some_rows, write_object
from karat.golden.formats._listing import check_grade, check_queries, declaration, declared, named
from karat.golden.formats._records import name_of
from karat.golden.formats._scale import Scale

_FOUR: Scale = {"grades": GRADES, "relevant": 2}
_OF_QUERIES: tuple[Source, ...] = ("manual", "implicit", "bootstrapped")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")
"""Whole numbers that JavaScript holds exactly, and that are written in one way only."""


def _read(path: Path, reading: Reading) -> GoldenSet:
    given, records = _records(path, reading)
    meaning = declared(given, _FOUR)
    queries: list[Query] = []
    judgments: list[Judgment] = []
    for row in records:
        with row:
            query = _query(row)
            judgments += list(_judgments(row, query.id, len(meaning["grades"]) - 1))
            queries.append(query)
    given.close()
    return GoldenSet(name=name_of(path), **meaning, queries=tuple(queries), judgments=tuple(judgments))


def _records(path: Path, reading: Reading) -> tuple[Row, Iterable[Row]]:
    """Give the head of a file, which a list and JSONL do not have, and its records."""
    seen = head(path)
    lines = "queryId" in seen.keys and seen.text.lstrip()[0] == "{"
    if lines or (".jsonl" in path.suffixes and "queries" not in seen.keys):
        return Row(reading, {}, str(path)), some_rows(path, reading)
    value = json_value(path)
    if isinstance(value, list):
        return Row(reading, {}, str(path)), _items(value, path, reading)
    if not isinstance(value, dict):
        raise InputError(f"holds {shorten(value)}, neither an object nor a list", source=str(path))
    given = Row(reading, value, str(path))
    return given, rows(given, "queries")


def _items(items: list[Any], path: Path, reading: Reading) -> Iterator[Row]:
    for i, item in enumerate(items):
        if isinstance(item, dict):
            yield Row(reading, item, str(path), path=f"[{i}]")
        else:
            reading.errors.append(InputError(f"[{i}]: {shorten(item)} is not an object", source=str(path)))


def _query(row: Row) -> Query:
    context = row.row("sessionContext")
    return Query(
        id=row.id("queryId"),
        text=row.text("query"),
        intent=row.text("intent", default=""),
        category=row.text("category", default=""),
        session=None if context is None else _session(context),
        harvested=row.text("harvestedAt", default=""),
    )


def _session(row: Row) -> Session:
    session = Session(
        id=row.id("sessionId"), documents=row.ids("workingMemoryIds"), turn=row.integer("turnNumber", default=1)
    )
    row.close()
    return session


def _judgments(row: Row, query: str, top: int) -> Iterator[Judgment]:
    usual = _source(row, "judgmentSource", row.text("judgmentSource"))
    for judged in rows(row, "judgments"):
        grade, confidence = judged.integer("relevance"), judged.number("confidence", default=None)
        if not 0 <= grade <= top:
            raise judged.error(f"'relevance' is {grade}, not from 0 to {top}")
        if confidence is not None and not 0 <= confidence <= 1:
            raise judged.error(f"'confidence' is {confidence:g}, not between 0 and 1")
        yield Judgment(
            query=query,
            target=Target(document=judged.id("memoryId")),
            grade=grade,
            source=_source(judged, "source", judged.text("source", default=usual)),
            annotator=judged.text("annotator", default=""),
            confidence=confidence,
            channels=judged.texts("sourceChannels"),
        )
        judged.close()


def _source(row: Row, name: str, value: str) -> Source:
    for known in SOURCES:
        if known == value:
            return known
    near = did_you_mean(value, SOURCES) or f", not one of {', '.join(SOURCES)}"
    raise row.error(f"{shorten(name)} is {shorten(value)}{near}")


def _write(golden: GoldenSet, path: Path) -> None:
    write_object(path, declaration(golden, _FOUR), {"queries": _queries(golden)})


def _queries(golden: GoldenSet) -> Iterator[Named]:
    check_queries(golden)
    judged: dict[str, list[Judgment]] = {query.id: [] for query in golden.queries}
    for judgment in _of_documents(golden):
        check_grade(judgment.query, judgment.target.document, judgment.grade, len(golden.grades) - 1)
        judged[judgment.query].append(judgment)
    for query in golden.queries:
        found = Counter(judgment.source for judgment in judged[query.id])
        usual = max(_OF_QUERIES, key=lambda source: found[source])
        session = {"sessionContext": _context(query)} if query.session else {}
        record = {
            "queryId": query.id,
            "query": query.text,
            "intent": query.intent,
            "category": query.category,
            **session,
            "judgments": [_judgment(judgment, usual) for judgment in judged[query.id]],
            "judgmentSource": usual,
            "harvestedAt": query.harvested or None,
        }
        yield named(query, record)


def _of_documents(golden: GoldenSet) -> Iterator[Judgment]:
    """Give the judgments of documents; where several parts of one are judged, one that has the document's grade."""
    pairs: dict[tuple[str, str], dict[Target, list[Judgment]]] = {}
    for judgment in golden.judgments:
        parts = pairs.setdefault((judgment.query, judgment.target.document), {})
        parts.setdefault(judgment.target, []).append(judgment)
    for judgment in golden.judgments:
        parts = pairs.get((judgment.query, judgment.target.document), {})
        if len(parts) == 1:
            yield judgment
        elif parts:
            yield _of_parts(golden, parts)
            parts.clear()


def _of_parts(golden: GoldenSet, parts: Mapping[Target, list[Judgment]]) -> Judgment:
    """Give the judgment of a document that has the best grade of its parts, from whom it is trusted most."""
    decided = {target: golden.decided[said[0].query, target] for target, said in parts.items()}
    best = max(decided, key=lambda target: decided[target])
    trusted = min(parts[best], key=lambda judgment: SOURCES.index(judgment.source))
    return replace(trusted, grade=decided[best], annotator="", confidence=None)


def _context(query: Query) -> Record:
    session = query.session
    assert session is not None
    place = f"the session of query {shorten(query.id)}"
    return {
        "sessionId": check_id(session.id, place),
        "workingMemoryIds": [_number(check_id(name, place)) for name in session.documents],
        "turnNumber": session.turn,
    }


def _judgment(judgment: Judgment, usual: Source) -> Record:
    record: dict[str, Any] = {"memoryId": _number(judgment.target.document), "relevance": judgment.grade}
    if judgment.channels:
        record["sourceChannels"] = list(judgment.channels)
    if judgment.annotator:
        record["annotator"] = judgment.annotator
    if judgment.confidence is not None:
        record["confidence"] = judgment.confidence
    return record if judgment.source == usual else {**record, "source": judgment.source}


def _number(name: str) -> int | str:
    """Write an id as a number if it is one.

    >>> _number("7"), _number("07"), _number("wifi")
    (7, '07', 'wifi')
    """
    return int(name) if _NUMBER.fullmatch(name) else name


def _recognise(path: Path) -> bool:
    keys = head(path).keys
    return "queryId" in keys or "queries[].queryId" in keys


FORMATS.add(
    "agent",
    Format(
        name="agent",
        summary="JSON or JSONL: queryId, query, intent, category, sessionContext, judgments of memories",
        read=_read,
        recognise=_recognise,
        write=_write,
        keeps=frozenset(
            {
                *("set.queries", "set.judgments", "set.grades", "set.relevant"),
                *("query.id", "query.text", "query.intent", "query.category", "query.session", "query.harvested"),
                *("judgment.query", "judgment.target", "judgment.grade", "judgment.source", "judgment.annotator"),
                *("judgment.confidence", "judgment.channels", "target.document"),
            }
        ),
    ),
)
