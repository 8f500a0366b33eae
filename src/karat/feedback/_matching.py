"""What an event says, and of which query: decided here for reports, harvests, trials, alerts and canaries alike."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from karat.online import RE_SEARCH, VALIDATE_NOT_USEFUL, VALIDATE_USEFUL, LoggedEvent, LoggedQuery, is_outcome

SKEW_SECONDS = 5.0
"""Clocks of two processes may differ by so much: a read may seem to come that long before its query."""
_OF_RESULTS = frozenset((RE_SEARCH, VALIDATE_USEFUL, VALIDATE_NOT_USEFUL))
"""What can be said of all that a query found, and needs no document."""
_AGAINST = frozenset((RE_SEARCH, VALIDATE_NOT_USEFUL))
"""What speaks against a query: it is believed of the latest one rather than of none, so that no failure is lost."""
_Times = tuple[list[float], list[LoggedQuery]]


class AskedQueries:
    """The queries of a session, in the order of time, in which those of events are looked up.

    >>> from karat.online import LoggedHit
    >>> hits = LoggedHit("pool", 1), LoggedHit("wifi", 2)
    >>> asked = AskedQueries([LoggedQuery("1", 10.0, "wifi?", hits=hits), LoggedQuery("2", 20.0, "code?")])
    >>> asked.find(LoggedEvent("3", 30.0, RE_SEARCH)).id
    '2'
    >>> asked.find(LoggedEvent("3", 30.0, "read_after_search", document="wifi")).id
    '1'
    """

    def __init__(self, queries: Sequence[LoggedQuery]) -> None:
        self._queries = queries
        self._by_id = {query.id: query for query in queries}
        self._all: _Times | None = None
        self._shown: dict[str, _Times] | None = None

    def find(self, event: LoggedEvent) -> LoggedQuery | None:
        """Return the query that an event is about; None if it is about none of these.

        It is the one that the event names, or else the latest before it that showed its document. An event without a
        document is about the latest query before it. If it names a query that is not here, it may have been about
        another one, and only counts if it speaks against the latest.
        """
        if (named := self._by_id.get(event.query)) is not None:
            return named
        if event.document:
            latest = _find_latest(self._index().get(event.document), event.time)
            if latest is not None or event.kind != RE_SEARCH:
                return latest
        if event.kind in _AGAINST or (not event.query and (event.kind in _OF_RESULTS or event.rank)):
            return _find_latest(self._order(), event.time)
        return None

    def _index(self) -> dict[str, _Times]:
        """Return the queries by the documents that they showed; most hosts name the query, and need no index."""
        if self._shown is None:
            self._shown = {}
            for query in self._queries:
                for document in dict.fromkeys(query.documents):
                    times, queries = self._shown.setdefault(document, ([], []))
                    times.append(query.time)
                    queries.append(query)
        return self._shown

    def _order(self) -> _Times:
        if self._all is None:
            self._all = [query.time for query in self._queries], list(self._queries)
        return self._all


def _find_latest(history: _Times | None, time: float) -> LoggedQuery | None:
    """Return the latest query that was asked before a time, or a little later by another clock."""
    times, queries = history or ([], [])
    place = bisect_right(times, time)
    if not place and times and times[0] <= time + SKEW_SECONDS:
        place = 1
    return queries[place - 1] if place else None


def name_document(event: LoggedEvent, query: LoggedQuery) -> str:
    """Return the document that an event is about: the one that it names, or the one at its rank; empty for neither.

    >>> from karat.online import LoggedHit
    >>> query = LoggedQuery("1", 1.0, "wifi", hits=(LoggedHit("a", 1),))
    >>> name_document(LoggedEvent("2", 2.0, "reference", rank=1), query)
    'a'
    """
    if event.document or not event.rank or event.query not in ("", query.id):  # a rank of another list says nothing
        return event.document
    return next((hit.document for hit in query.hits if hit.rank == event.rank), "")


def find_task_value(outcomes: Sequence[LoggedEvent]) -> float | None:
    """Return what the last task outcome of a session says that has a value; None if nobody said how its task ended.

    ``outcomes`` are in the order of time. The value of an old or imported record may not be from 0 to 1. Then nothing
    is known, whatever was said before; :func:`has_failed` believes the worst.

    >>> said = [LoggedEvent(str(time), time, "task_outcome", value=value) for time, value in enumerate((1.0, 0.5))]
    >>> find_task_value(said)
    0.5
    """
    return next((event.value for event in reversed(outcomes) if event.value is not None), None)


def has_failed(value: float | None) -> bool:
    """Return whether a task failed, or ended with something that is not from 0 to 1."""
    return value is not None and not (is_outcome(value) and value > 0)
