"""Sessions of logs that lie in Parquet files, as ``karat online export`` writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any

import polars as pl

from karat.core import InputError
from karat.feedback._rebuild import rebuild_sessions
from karat.feedback._sessions import Oddities, Session
from karat.online import LoggedEvent, LoggedHit, LoggedQuery, name_session

_SHARED: dict[str, Any] = {"home": pl.String, "time": pl.Float64, "id": pl.String, "session": pl.String}
_QUERY: dict[str, Any] = {
    "text": pl.String,
    "intent": pl.String,
    "hits": pl.List(pl.Struct({"document": pl.String, "rank": pl.Int64, "chunk": pl.String})),
    "answer": pl.String,
    "citations": pl.List(pl.String),
    "error": pl.String,
    "latency": pl.Float64,
    "system": pl.String,
    "weight": pl.Float64,
    "count": pl.Int64,
}
_EVENT: dict[str, Any] = {
    "kind": pl.String,
    "query": pl.String,
    "document": pl.String,
    "rank": pl.Int64,
    "value": pl.Float64,
}
_TEXTS = ("id", "session", "text", "intent", "error", "system", "query", "document")
"""Columns in which nothing stands for an empty text."""
_HIT = ("document", "rank", "chunk")
KEY, ORDER = "home", ("time", "id")


def list_columns(*, queries: bool, events: bool) -> dict[str, Any]:
    """Return the columns that are read, with their types, if there are such records."""
    return {**_SHARED, **(_QUERY if queries else {}), **(_EVENT if events else {})}


def rebuild_groups(
    frames: Iterable[pl.DataFrame], oddities: Oddities, texts: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Yield the sessions of frames, in which the records of a home are together, in the order of time.

    The frames are those of :func:`complete_records`.

    An event whose home is another session than its own belongs to a query of that. If that query is not there, since it
    was asked before the span, it belongs to nothing.
    """
    home, queries, events = "", list[LoggedQuery](), list[LoggedEvent]()
    for frame in frames:
        for row_home, record in _read_records(frame):
            if row_home != home:
                yield from _rebuild(home, queries, events, oddities, texts)
                home, queries, events = row_home, [], []
            if isinstance(record, LoggedQuery):
                queries.append(record)
            else:
                events.append(record)
    yield from _rebuild(home, queries, events, oddities, texts)


def _rebuild(
    home: str,
    queries: list[LoggedQuery],
    events: list[LoggedEvent],
    oddities: Oddities,
    texts: Mapping[str, str] | None,
) -> Iterator[Session]:
    if events:
        names = {query.id for query in queries}
        own = [event for event in events if event.query in names or name_session(event) == home]
        oddities.unknown_query += len(events) - len(own)
        events = own
    return rebuild_sessions(queries, events, oddities=oddities, texts=texts)


def _read_records(frame: pl.DataFrame) -> Iterator[tuple[str, LoggedQuery | LoggedEvent]]:
    """Yield the records of a frame, each with its home."""
    hits = [pl.col("hits").list.eval(pl.element().struct.field(name)).alias(f"hit_{name}") for name in _HIT]
    columns = [*_SHARED, *(name for name in (*_EVENT, *_QUERY) if name != "hits")]
    rows = frame.with_columns(hits).select(*columns, *(f"hit_{name}" for name in _HIT))
    for row in rows.iter_rows():
        home, time, name, session, kind = row[:5]
        if kind is None:
            yield home, _make_query(name, time, session, row[9:])
        else:
            query, document, rank, value = row[5:9]
            yield home, LoggedEvent(name, time, kind, session, "", query, document, rank, value)


def complete_records(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records with all columns, also if there are no queries or no events, and empty texts for nothing."""
    if frame["time"].null_count() or frame["home"].null_count():
        raise InputError("a record has no time, or no home", source="the Parquet files", hint="export them again")
    missing = [pl.lit(None, kind).alias(name) for name, kind in {**_QUERY, **_EVENT}.items() if name not in frame]
    return frame.with_columns(missing).with_columns(pl.col(_TEXTS).fill_null(""), pl.col("weight").fill_null(1.0))


def _make_query(name: str, time: float, session: str, values: tuple[Any, ...]) -> LoggedQuery:
    text, intent, answer, citations, error, latency, system, weight, count, documents, ranks, chunks = values
    hits: tuple[LoggedHit, ...] = ()
    if documents:
        chunks = (chunk or "" for chunk in chunks)
        hits = tuple(map(LoggedHit, documents, ranks, repeat(None), repeat(()), repeat(None), repeat(""), chunks))
    return LoggedQuery(
        name, time, text, session, intent=intent, hits=hits, answer=answer, citations=tuple(citations or ()),
        error=error, latency=latency, system=system, weight=weight, count=count,
    )  # fmt: skip
