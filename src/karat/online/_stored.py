"""Records as rows of a store, and rows as records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import msgspec

from karat.files import record_folder
from karat.online._homes import IDLE_SECONDS, name_session
from karat.online._paths import find_paths
from karat.online._records import LoggedEvent, LoggedHit, LoggedQuery
from karat.online._shadow_records import Answers, LoggedShadow
from karat.online._totals import Totals, read_totals
from karat.store import Row, Store, open_store

_encode = msgspec.json.Encoder().encode
_hits = msgspec.json.Decoder(tuple[LoggedHit, ...]).decode
_channels = msgspec.json.Decoder(dict[str, tuple[str, ...]]).decode
_numbers = msgspec.json.Decoder(dict[str, float]).decode
_ids = msgspec.json.Decoder(tuple[str, ...]).decode
_answers = msgspec.json.Decoder(Answers).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode
_attributes = msgspec.json.Decoder(dict[str, Any]).decode
_DECODERS: tuple[tuple[int, Callable[[str], Any]], ...] = (
    (8, _hits),
    (9, _channels),
    (10, _numbers),
    (11, _numbers),
    (13, _ids),
    (20, _attributes),
    (25, _texts),
)
_SHADOW_JSON: dict[int, Callable[[str], Any]] = {7: _ids, 8: _ids, 17: _ids, 18: _attributes, 25: _answers}
_LISTS, _TOP_CHANGED = 16, 23
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
        query.build,
        query.index,
        query.normaliser,
        _to_json(query.flags) if query.flags else _NO_MAPPING,
    )


def event_row(event: LoggedEvent) -> Row:
    """Return the row of an event, in the order of its fields."""
    attributes = _to_json(event.attributes) if event.attributes else _NO_MAPPING
    fields = (event.session, event.user, event.query, event.document, event.rank, event.value, event.weight)
    return (event.id, event.time, event.kind, *fields, attributes)


def shadow_row(run: LoggedShadow) -> Row:
    """Return the row of a shadow run, in the order of its fields."""
    values = list[Any](getattr(run, name) for name in LoggedShadow.__struct_fields__)
    for index in _SHADOW_JSON:
        values[index] = _to_json(values[index])
    return tuple(values)


def to_shadow(row: Row) -> LoggedShadow:
    """Return the shadow run of a row."""
    values: list[Any] = list(row)
    for index, decode in _SHADOW_JSON.items():
        values[index] = decode(values[index])
    changed = values[_TOP_CHANGED]
    values[_LISTS], values[_TOP_CHANGED] = bool(values[_LISTS]), None if changed is None else bool(changed)
    return LoggedShadow(*values)


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
        self,
        since: float | None = None,
        until: float | None = None,
        *,
        session: str | None = None,
        parts: int | None = None,
    ) -> Iterator[LoggedQuery]:
        """Yield the queries that were asked in a span of time; ``parts`` of all sessions only, chosen by chance."""
        for row in self._store.queries(since, until, session, parts):
            yield to_query(row)

    def events(
        self,
        since: float | None = None,
        until: float | None = None,
        *,
        session: str | None = None,
        parts: int | None = None,
    ) -> Iterator[LoggedEvent]:
        """Yield the events of a span of time; ``parts`` of all sessions only, the same as of queries."""
        for row in self._store.events(since, until, session, parts):
            yield to_event(row)

    def find(self, query: str) -> LoggedQuery | None:
        """Return a query by its id; None if the log does not have it."""
        row = self._store.query(query)
        return None if row is None else to_query(row)

    def events_of(self, query: str) -> Iterator[LoggedEvent]:
        """Yield the events that name a query, in the order of time."""
        return map(to_event, self._store.events_of(query))

    def homes(self, since: float | None = None, until: float | None = None) -> Iterator[tuple[LoggedEvent, str]]:
        """Yield the events of a span of time, each with the key of the session that it belongs to.

        That is the session of the query that it names, if that was asked at most :data:`IDLE_SECONDS` before it, and
        otherwise its own.
        """
        for *row, session in self._store.events_with_homes(since, until, IDLE_SECONDS):
            event = to_event(tuple(row))
            yield event, name_session(event) if session is None else f"s{session}" if session else f"q{event.query}"

    def totals(self, since: float | None = None, until: float | None = None) -> Totals:
        """Return how many queries were asked in a span of time, by day and intent, and how many found nothing."""
        return read_totals(self._store, since, until)

    def latencies(self, since: float | None = None, until: float | None = None) -> Iterator[float]:
        """Yield the milliseconds that queries of a span of time took, where that was measured and is not below 0."""
        return self._store.latencies(since, until)

    def count_oddities(self, since: float | None = None, until: float | None = None) -> dict[str, int]:
        """Return how much is odd about all records of a span of time, as far as no session has to be rebuilt for it."""
        return self._store.count_oddities(since, until)

    def shadow_runs(
        self, feature: str, since: float | None = None, until: float | None = None
    ) -> Iterator[LoggedShadow]:
        """Yield the shadow runs of a feature in a span of time."""
        for row in self._store.shadow_runs(feature, since, until):
            yield to_shadow(row)

    def shadow_ids(self, feature: str) -> set[str]:
        """Return the ids of the shadow runs of a feature."""
        return self._store.shadow_ids(feature)

    def shadow_features(self) -> dict[str, int]:
        """Return how many shadow runs each feature has, in the order of their latest."""
        return self._store.shadow_features()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def __enter__(self) -> LogReader:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def read_log(path: str | os.PathLike[str] = "karat.db") -> LogReader:
    """Open the records of a store for reading. Records still in the journal are not included: see ``ingest``."""
    paths = find_paths(path)
    for beside in (paths.key, paths.journal, paths.archive):
        record_folder(beside)
    return LogReader(open_store(path))
