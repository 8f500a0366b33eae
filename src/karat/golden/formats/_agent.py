"""Agent memory's evaluation queries (Spec-Kit Memory): EvalQuery records with EvalJudgment records inside.

::

    {"queries": [{"queryId": "q1", "query": "...", "intent": "...", "category": "causal-query",
                  "sessionContext": {"sessionId": "s1", "workingMemoryIds": [7, 9], "turnNumber": 3},
                  "judgments": [{"memoryId": 7, "relevance": 3, "sourceChannels": ["bm25"], "annotator": "ana",
                                 "confidence": 0.9}],
                  "judgmentSource": "manual", "harvestedAt": null}]}

- A list of such records and JSONL are read as well.
- Memory ids are numbers, which karat keeps as text. Ids that are plain numbers are written as numbers, others as text.
- ``judgmentSource`` has three values and applies to all judgments of a query. The format's own database has a fourth,
  ``validated``, and a source per judgment. So ``source`` in a judgment is an extension, written where it differs.
- Relevance goes from 0 to 3. Extensions: ``grades`` and ``relevant`` beside ``queries`` declare another scale, and
  ``"answerable": false`` marks a query that has no answer.
- Judgments of several parts of one memory are written as one, with the best of their grades.
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
from karat.golden.formats._head import read_head
from karat.golden.formats._json import Named, Record, read_json, read_rows, required_rows, write_object
from karat.golden.formats._listing import (
    check_grade,
    check_queries,
    declare_answerable,
    declare_scale,
    name_record,
    read_scale,
)
from karat.golden.formats._records import name_from_path
from karat.golden.formats._scale import Scale

_FOUR: Scale = {"grades": GRADES, "relevant": 2}
_OF_QUERIES: tuple[Source, ...] = ("manual", "implicit", "bootstrapped")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,14}")
"""Whole numbers that JavaScript holds exactly, in their only spelling."""


def _read(path: Path, reading: Reading) -> GoldenSet:
    head, records = _read_records(path, reading)
    meaning = read_scale(head, _FOUR)
    queries: list[Query] = []
    judgments: list[Judgment] = []
    for row in records:
        with row:
            query = _read_query(row)
            judgments += list(_read_judgments(row, query.id, len(meaning["grades"]) - 1))
            queries.append(query)
    head.close()
    return GoldenSet(name=name_from_path(path), **meaning, queries=tuple(queries), judgments=tuple(judgments))


def _read_records(path: Path, reading: Reading) -> tuple[Row, Iterable[Row]]:
    """Return the head of a file and its records. A list and JSONL have an empty head."""
    start = read_head(path)
    is_jsonl = "queryId" in start.keys and start.text.lstrip()[0] == "{"
    if is_jsonl or (".jsonl" in path.suffixes and "queries" not in start.keys):
        return Row(reading, {}, str(path)), read_rows(path, reading)
    value = read_json(path, reading)
    if isinstance(value, list):
        return Row(reading, {}, str(path)), _read_items(value, path, reading)
    if not isinstance(value, dict):
        raise InputError(f"holds {shorten(value)}, neither an object nor a list", source=str(path))
    head = Row(reading, value, str(path))
    return head, required_rows(head, "queries")


def _read_items(items: list[Any], path: Path, reading: Reading) -> Iterator[Row]:
    for i, item in enumerate(items):
        if isinstance(item, dict):
            yield Row(reading, item, str(path), path=f"[{i}]")
        else:
            reading.errors.append(InputError(f"[{i}]: {shorten(item)} is not an object", source=str(path)))


def _read_query(row: Row) -> Query:
    context = row.row("sessionContext")
    return Query(
        id=row.id("queryId"),
        text=row.text("query"),
        intent=row.text("intent", default=""),
        category=row.text("category", default=""),
        session=None if context is None else _read_session(context),
        answerable=row.flag("answerable", default=True),
        harvested=row.text("harvestedAt", default=""),
    )


def _read_session(row: Row) -> Session:
    session = Session(
        id=row.id("sessionId"), documents=row.ids("workingMemoryIds"), turn=row.integer("turnNumber", default=1)
    )
    row.close()
    return session


def _read_judgments(row: Row, query: str, top: int) -> Iterator[Judgment]:
    usual = _check_source(row, "judgmentSource", row.text("judgmentSource"))
    for item in required_rows(row, "judgments"):
        grade, confidence = item.integer("relevance"), item.number("confidence", default=None)
        if not 0 <= grade <= top:
            raise item.error(f"'relevance' is {grade}, not from 0 to {top}")
        if confidence is not None and not 0 <= confidence <= 1:
            raise item.error(f"'confidence' is {confidence:g}, not between 0 and 1")
        yield Judgment(
            query=query,
            target=Target(document=item.id("memoryId")),
            grade=grade,
            source=_check_source(item, "source", item.text("source", default=usual)),
            annotator=item.text("annotator", default=""),
            confidence=confidence,
            channels=item.texts("sourceChannels"),
        )
        item.close()


def _check_source(row: Row, name: str, value: str) -> Source:
    for source in SOURCES:
        if source == value:
            return source
    near = did_you_mean(value, SOURCES) or f", not one of {', '.join(SOURCES)}"
    raise row.error(f"{shorten(name)} is {shorten(value)}{near}")


def _write(golden: GoldenSet, path: Path) -> None:
    write_object(path, declare_scale(golden, _FOUR), {"queries": _query_records(golden)})


def _query_records(golden: GoldenSet) -> Iterator[Named]:
    check_queries(golden)
    judged: dict[str, list[Judgment]] = {query.id: [] for query in golden.queries}
    for judgment in _document_judgments(golden):
        check_grade(judgment.query, judgment.target.document, judgment.grade, len(golden.grades) - 1)
        judged[judgment.query].append(judgment)
    for query in golden.queries:
        counts = Counter(judgment.source for judgment in judged[query.id])
        usual = max(_OF_QUERIES, key=lambda source: counts[source])
        session = {"sessionContext": _session_record(query)} if query.session else {}
        record = {
            "queryId": query.id,
            "query": query.text,
            "intent": query.intent,
            "category": query.category,
            **session,
            "judgments": [_judgment_record(judgment, usual) for judgment in judged[query.id]],
            "judgmentSource": usual,
            "harvestedAt": query.harvested or None,
            **declare_answerable(query),
        }
        yield name_record(query, record)


def _document_judgments(golden: GoldenSet) -> Iterator[Judgment]:
    """Yield the judgments of documents. If several parts of a document are judged, yield one with its best grade."""
    pairs: dict[tuple[str, str], dict[Target, list[Judgment]]] = {}
    for judgment in golden.judgments:
        parts = pairs.setdefault((judgment.query, judgment.target.document), {})
        parts.setdefault(judgment.target, []).append(judgment)
    for judgment in golden.judgments:
        parts = pairs.get((judgment.query, judgment.target.document), {})
        if len(parts) == 1:
            yield judgment
        elif parts:
            yield _merge_parts(golden, parts)
            parts.clear()


def _merge_parts(golden: GoldenSet, parts: Mapping[Target, list[Judgment]]) -> Judgment:
    """Return a judgment with the best grade of a document's parts, from the most trusted source of that grade."""
    decided = {target: golden.decided[judgments[0].query, target] for target, judgments in parts.items()}
    best = max(decided, key=lambda target: decided[target])
    trusted = min(parts[best], key=lambda judgment: SOURCES.index(judgment.source))
    return replace(trusted, grade=decided[best], annotator="", confidence=None)


def _session_record(query: Query) -> Record:
    session = query.session
    assert session is not None
    place = f"the session of query {shorten(query.id)}"
    return {
        "sessionId": check_id(session.id, place),
        "workingMemoryIds": [_to_number(check_id(name, place)) for name in session.documents],
        "turnNumber": session.turn,
    }


def _judgment_record(judgment: Judgment, usual: Source) -> Record:
    record: dict[str, Any] = {"memoryId": _to_number(judgment.target.document), "relevance": judgment.grade}
    if judgment.channels:
        record["sourceChannels"] = list(judgment.channels)
    if judgment.annotator:
        record["annotator"] = judgment.annotator
    if judgment.confidence is not None:
        record["confidence"] = judgment.confidence
    return record if judgment.source == usual else {**record, "source": judgment.source}


def _to_number(name: str) -> int | str:
    """Return an id as a number if it is one.

    >>> _to_number("7"), _to_number("07"), _to_number("wifi")
    (7, '07', 'wifi')
    """
    return int(name) if _NUMBER.fullmatch(name) else name


def _recognise(path: Path) -> bool:
    keys = read_head(path).keys
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
                *("query.answerable", "session.id", "session.documents", "session.turn"),
                *("judgment.query", "judgment.target", "judgment.grade", "judgment.source", "judgment.annotator"),
                *("judgment.confidence", "judgment.channels", "target.document"),
            }
        ),
    ),
)
