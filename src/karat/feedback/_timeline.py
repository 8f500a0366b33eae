"""A session as a line of a list, with all that happened in it in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from karat.feedback._matching import SKEW_SECONDS
from karat.feedback._rebuild import rebuild_sessions
from karat.feedback._report import format_moment
from karat.feedback._sessions import Session
from karat.online import (
    IDLE_SECONDS,
    READ_AFTER_SEARCH,
    TASK_OUTCOME,
    VALIDATE_NOT_USEFUL,
    VALIDATE_USEFUL,
    LoggedEvent,
    LoggedQuery,
    LogReader,
    name_session,
)

if TYPE_CHECKING:
    from karat.schema.pages import SessionLine, TimelineMark

_MARKS, _TEXTS, _LONGEST = 40, 3, 200
_DAY = 86_400.0
_SAME = 1e-3  # seconds: times are read back from an address as they were written
_KINDS = {READ_AFTER_SEARCH: "read", VALIDATE_USEFUL: "useful", VALIDATE_NOT_USEFUL: "rejected", TASK_OUTCOME: "end"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecords:
    """A session with the events that it was rebuilt from."""

    session: Session
    events: tuple[LoggedEvent, ...]


def name_key(session: Session) -> str:
    """Return the name of a session in addresses: ``s`` and its id, or ``q`` and the id of its one query."""
    return f"s{session.id}" if session.id or not session.queries else name_session(session.queries[0].query)


def describe_line(session: Session, events: tuple[LoggedEvent, ...] = ()) -> SessionLine:
    """Return a session in a line; without ``events``, what was read is marked at the time of its query."""
    from karat.schema.pages import SessionLine

    outcomes = dict.fromkeys(search.outcome for search in session.queries)
    marks = sorted(_list_marks(session, events), key=lambda mark: mark.after)
    return SessionLine(
        key=name_key(session),
        at=session.start,
        start=format_moment(session.start),
        seconds=session.seconds,
        queries=len(session.queries),
        texts=tuple(search.query.text[:_LONGEST] for search in session.queries[:_TEXTS]),
        outcomes=tuple(outcomes),
        read=len(session.accessed),
        task=session.task_value,
        marks=tuple(marks[:_MARKS]),
    )


def _list_marks(session: Session, events: tuple[LoggedEvent, ...]) -> Iterator[TimelineMark]:
    from karat.schema.pages import TimelineMark

    for search in session.queries:
        after = max(0.0, search.query.time - session.start)
        yield TimelineMark(after=after, kind=search.outcome, text=search.query.text[:_LONGEST])
        for document in search.read if not events else ():
            yield TimelineMark(after=after, kind="read", text=document[:_LONGEST])
    for event in events or session.outcomes:
        if event.kind in _KINDS:
            text = event.document[:_LONGEST] if event.document else "" if event.value is None else f"{event.value:g}"
            kind = _KINDS[event.kind]
            yield TimelineMark(after=max(0.0, event.time - session.start), kind=kind, text=text)  # type: ignore[arg-type]


def find_session(log: LogReader, key: str, at: float) -> SessionRecords | None:
    """Return the session of a log that has a name, see :func:`name_key`, and began at a time; None if there is none.

    One name can have several sessions, if people came back later.
    """
    queries = _find_queries(log, key, at)
    events = {event.id: event for event in _find_events(log, key, at)}
    for query in queries:
        events |= {event.id: event for event in log.events_of(query.id)}
    ordered = sorted(events.values(), key=lambda event: (event.time, event.id))
    for session in rebuild_sessions(queries, ordered):
        if name_key(session) == key and abs(session.start - at) < _SAME:
            last = session.start + session.seconds + _SAME
            own = tuple(event for event in ordered if session.start - _SAME <= event.time <= last)
            return SessionRecords(session=session, events=own)
    return None


def _find_queries(log: LogReader, key: str, at: float) -> list[LoggedQuery]:
    if key.startswith("q"):
        query = log.find(key[1:])
        return [] if query is None else [query]
    return list(log.queries(at - SKEW_SECONDS, at + _DAY, session=key[1:]))


def _find_events(log: LogReader, key: str, at: float) -> Iterator[LoggedEvent]:
    if key.startswith("s"):
        yield from log.events(at - SKEW_SECONDS, at + _DAY + IDLE_SECONDS, session=key[1:])
