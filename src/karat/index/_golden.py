"""The golden set in the index: its queries with their judgments, and the beginnings of its documents."""

from __future__ import annotations

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from karat.core import SOURCES, GoldenSet, Judgment, Target
from karat.golden import Report
from karat.index._columns import RANKED
from karat.index._database import has_trigrams
from karat.index._reading import NAMED, IndexedJudgment, IndexedQuery, fold, order_best, pack
from karat.text import canonical

_BEGINNING = 400  # characters of a document


def write_golden(connection: sqlite3.Connection, golden: GoldenSet) -> None:
    """Write a golden set in place of the one that the index has; of a repeated id, the first counts."""
    for table in ("query", "sought", "document"):
        connection.execute(f"delete from {table}")  # noqa: S608 (names of our own)
    judgments = _describe_judgments(golden)
    counts = {id_: _count_judged(golden, id_) for id_ in golden.query_by_id}
    queries = [
        IndexedQuery(
            position=position,
            id=query.id,
            text=query.text,
            category=query.category,
            type=query.type,
            intent=query.intent,
            answer=query.answer,
            answerable=query.answerable,
            paraphrases=query.paraphrases,
            judgments=tuple(judgments.get(query.id, ())),
            judged=counts[query.id][0],
            relevant=counts[query.id][1],
        )
        for position, query in enumerate(golden.query_by_id.values())
    ]
    connection.executemany(
        "insert into query values (?, ?, ?)",
        ((query.position, query.id, msgspec.json.encode(query)) for query in queries),
    )
    _write_texts(connection, queries)
    _write_categories(connection, [query.category for query in queries])
    connection.executemany(
        "insert into document values (?, ?, ?)",
        ((document.id, document.title, _shorten(document.text)) for document in golden.document_by_id.values()),
    )


def write_lint(connection: sqlite3.Connection, report: Report) -> None:
    """Write what the linter says in place of what it said before, with all queries of the index that it names."""
    connection.execute("delete from kept where kind in ('lint', 'named')")
    connection.execute("insert into kept values ('lint', '', ?)", (pack(report.document()),))
    positions = dict(connection.execute("select id, position from query"))
    for place, finding in enumerate(report.findings):
        named = sorted({positions[id_] for id_ in finding.every if id_ in positions})
        if named:
            body = np.array(named, NAMED).tobytes()
            connection.execute("insert into kept values ('named', ?, ?)", (str(place), body))


def _describe_judgments(golden: GoldenSet) -> Mapping[str, Sequence[IndexedJudgment]]:
    """Return the judgments of each query, each with the grade that counts where several people judged the same."""
    judgments: dict[str, list[IndexedJudgment]] = defaultdict(list)
    decided = golden.decided if golden.repeats_pairs else {}
    most_trusted: dict[tuple[str, Target], int] = {}
    if decided:
        for judgment in golden.judgments:
            pair, trust = (judgment.query, judgment.target), SOURCES.index(judgment.source)
            most_trusted[pair] = min(trust, most_trusted.get(pair, trust))
    for judgment in golden.judgments:
        pair = judgment.query, judgment.target
        judgments[judgment.query].append(
            IndexedJudgment(
                target=str(judgment.target),
                document=judgment.target.document,
                grade=judgment.grade,
                source=judgment.source,
                annotator=judgment.annotator,
                date=judgment.date,
                decided=decided[pair] if decided else judgment.grade,
                decides=not decided or SOURCES.index(judgment.source) == most_trusted[pair],
                excerpt=_cut_out(golden, judgment),
            )
        )
    return judgments


def _count_judged(golden: GoldenSet, query: str) -> tuple[int, int]:
    """Return how many documents are judged for a query, and how many of them are relevant."""
    grades = golden.grades_by_query.by_document(query).values()
    return len(grades), sum(grade >= golden.relevant for grade in grades)


def _shorten(text: str) -> str:
    return " ".join(text[: 2 * _BEGINNING].split())[:_BEGINNING]


def _cut_out(golden: GoldenSet, judgment: Judgment) -> str:
    """Return the beginning of what was judged, if it is a part of a document that the set has."""
    span, document = judgment.target.span, golden.document_by_id.get(judgment.target.document)
    if span is None or document is None:
        return ""
    return _shorten(canonical(document.text).encode()[span.start : span.end].decode(errors="ignore"))


def _write_texts(connection: sqlite3.Connection, queries: Sequence[IndexedQuery]) -> None:
    """Write what queries are searched by."""
    texts = [(query.position, fold("\n".join((query.id, query.text, *query.paraphrases)))) for query in queries]
    connection.executemany("insert into sought values (?, ?)", texts)
    if has_trigrams(connection):
        connection.execute("insert into trigrams (trigrams) values ('delete-all')")
        connection.executemany("insert into trigrams (rowid, body) values (?, ?)", texts)


def _write_categories(connection: sqlite3.Connection, categories: Sequence[str]) -> None:
    """Write the names of all categories, and the number of that of each query."""
    names = sorted(set(categories))
    numbers = {name: number for number, name in enumerate(names)}
    codes = np.array([numbers[name] for name in categories], np.uint32)
    rows = (("names", msgspec.json.encode(names)), ("codes", zlib.compress(codes.tobytes(), 1)))
    connection.executemany("insert or replace into kept values ('categories', ?, ?)", rows)


def list_relevant(golden: GoldenSet) -> dict[str, tuple[str, ...]]:
    """Return the first relevant documents of each query, in the order of :meth:`IndexedQuery.list_relevant`."""
    relevant = golden.grades_by_query.at_least(golden.relevant)
    return {query: tuple(order_best(relevant.by_document(query))[:RANKED]) for query in relevant.queries_with_targets()}
