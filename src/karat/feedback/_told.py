"""Which queries events say were asked again, without what else sessions tell."""

from __future__ import annotations

from collections.abc import Iterable

from karat.feedback._rebuild import rebuild_sessions
from karat.online import RE_SEARCH, LoggedEvent, LoggedQuery


def find_told(queries: Iterable[LoggedQuery], events: Iterable[LoggedEvent]) -> dict[str, tuple[float, ...]]:
    """Return when events said that queries were asked again, by the ids of the queries; both in the order of time.

    Events belong to queries as :func:`rebuild_sessions` says; only those that are ``re_search`` are looked at.

    >>> query = LoggedQuery("1", 10.0, "wifi?", session="s")
    >>> find_told([query], [LoggedEvent("2", 12.0, RE_SEARCH, session="s")])
    {'1': (12.0,)}
    """
    again = sorted((event for event in events if event.kind == RE_SEARCH), key=lambda event: (event.time, event.id))
    sessions, names = {event.session for event in again} - {""}, {event.query for event in again}
    needed = (query for query in queries if query.session in sessions or query.id in names)
    rebuilt = rebuild_sessions(needed, again, similarity=_tell_nothing)
    return {search.query.id: search.told for session in rebuilt for search in session.queries if search.told}


def _tell_nothing(_first: str, _second: str) -> float:
    return 0.0
