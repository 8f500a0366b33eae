"""The records of a session as a store has them, each with the number of its row."""

from __future__ import annotations

from collections.abc import Iterator

from karat.online._records import LoggedEvent, LoggedQuery
from karat.online._shadow_records import LoggedShadow
from karat.online._stored import to_event, to_query, to_shadow
from karat.store import Keys, Store


class LogSessions:
    """The sessions of a log, found by what arrived since it was last read."""

    def __init__(self, store: Store) -> None:
        self._tables = store.sessions_by_arrival

    def last_keys(self) -> Keys:
        """Return the numbers of the rows that arrived last: of queries, events and shadow runs."""
        return self._tables.last_keys()

    def find(self, keys: Keys, span: tuple[float, float, float], shadowed: str = "") -> list[str]:
        """Return the sessions with a record that arrived after ``keys``, or with a time in the span.

        The span has the time before which nothing counts, and the time after which, and up to which, sessions may have
        ended. ``shadowed`` is the feature whose shadow runs are meant, and not queries and events.
        """
        if shadowed:
            return self._tables.touched_by_shadows(shadowed, keys, *span)
        return self._tables.touched(keys, *span)

    def queries(self, session: str) -> Iterator[tuple[int, LoggedQuery]]:
        """Yield the queries of a session."""
        for key, *row in self._tables.queries(session):
            yield key, to_query(tuple(row))

    def events(self, session: str) -> Iterator[tuple[int, LoggedEvent]]:
        """Yield the events of a session."""
        for key, *row in self._tables.events(session):
            yield key, to_event(tuple(row))

    def shadow_runs(self, feature: str, session: str) -> Iterator[tuple[int, LoggedShadow]]:
        """Yield the shadow runs of a feature in a session."""
        for key, *row in self._tables.shadow_runs(feature, session):
            yield key, to_shadow(tuple(row))
