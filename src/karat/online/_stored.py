"""Records as rows of a store, and rows as records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import msgspec

from karat.online._records import LoggedEvent, LoggedHit, LoggedQuery
from karat.store import Row, Store, open_store

_encode = msgspec.json.Encoder().encode
_hits = msgspec.json.Decoder(tuple[LoggedHit, ...]).decode
_channels = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode
_numbers = msgspec.json.Decoder(dict[str, float]).decode
_ids = msgspec.json.Decoder(tuple[str, ...]).decode
_attributes = msgspec.json.Decoder(dict[str, Any]).decode
_DECODERS: tuple[tuple[int, Callable[[str], Any]], ...] = (
    (8, _hits),
    (9, _channels),
    (10, _numbers),
    (11, _numbers),
    (13, _ids),
    (20, _attributes),
)
_NO_MAPPING, _NO_LIST = "{}", "[]"


def _to_json(value: Any) -> str:
    return _encode(value).decode()


def query_row(query: LoggedQuery) -> Row:
    """Return the row of a query, in the order of its fields."""
    return (
        query.id,
        query.time,
        query.text,
        query.session,
        query.user,
        query.intent,
        query.mode,
        query.tool,
        _to_json(query.hits) if query.hits else _NO_LIST,
        _to_json(query.channels) if query.channels else _NO_MAPPING,
        _to_json(query.stages) if query.stages else _NO_MAPPING,
        _to_json(query.weights) if query.weights else _NO_MAPPING,
        query.answer,
        _to_json(query.citations) if query.citations else _NO_LIST,
        query.error,
        query.latency,
        query.system,
        query.weight,
        query.trace,
        query.quality,
        _to_json(query.attributes) if query.attributes else _NO_MAPPING,
        query.count,
    )


def event_row(event: LoggedEvent) -> Row:
    """Return the row of an event, in the order of its fields."""
    attributes = _to_json(event.attributes) if event.attributes else _NO_MAPPING
    fields = (event.session, event.user, event.query, event.document, event.rank, event.value, event.weight)
    return (event.id, event.time, event.kind, *fields, attributes)


def to_query(row: Row) -> LoggedQuery:
    """Return the query of a row."""
    values: list[Any] = list(row)
    for index, decode in _DECODERS:
        values[index] = decode(values[index])
    return LoggedQuery(*values)


def to_event(row: Row) -> LoggedEvent:
    """Return the event of a row."""
    values: list[Any] = [*row[:10], _attributes(row[10])]
    return LoggedEvent(*values)


class LogReader:
    """The records of a store, in the order of time; a :class:`karat.online.Reader`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def queries(
        self, since: float | None = None, until: float | None = None, *, session: str | None = None
    ) -> Iterator[LoggedQuery]:
        """Yield the queries that were asked in a span of time."""
        for row in self._store.queries(since, until, session):
            yield to_query(row)

    def events(
        self, since: float | None = None, until: float | None = None, *, session: str | None = None
    ) -> Iterator[LoggedEvent]:
        """Yield the events of a span of time."""
        for row in self._store.events(since, until, session):
            yield to_event(row)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def read_log(path: str | os.PathLike[str] = "karat.db") -> LogReader:
    """Open the records of a store for reading. What is still in the journal is not among them: see ``ingest``."""
    return LogReader(open_store(path))
