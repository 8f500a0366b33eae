"""Which queries were asked again in a window, as events say."""

from __future__ import annotations

from collections.abc import Sequence

from karat.feedback import find_told
from karat.online import IDLE_SECONDS, RE_SEARCH, LoggedQuery, LogReader


def read_told(reader: LogReader, near: Sequence[LoggedQuery], start: float, end: float) -> set[str]:
    """Return the queries of sessions that events of a window say were asked again, however long before it they were.

    ``near`` are the queries of the window, and of some time before it; others are looked up.
    """
    events = [event for event in reader.events(start, end) if event.kind == RE_SEARCH]
    known = {query.id: query for query in near}
    first: dict[str, float] = {}
    for query in near:
        first[query.session] = min(query.time, first.get(query.session, query.time))
    for event in events:
        if event.query and event.query not in known and (named := reader.find(event.query)) is not None:
            known[named.id] = named
        is_near = event.query in known or (first.get(event.session, end) <= event.time and not event.document)
        if event.session and not is_near:
            first[event.session] = start - IDLE_SECONDS
            own = reader.queries(start - IDLE_SECONDS, event.time, session=event.session)
            known |= {query.id: query for query in own}
    queries = sorted(known.values(), key=lambda query: (query.time, query.id))
    repeats = find_told(queries, events)
    return {name for name in repeats if known[name].session}
