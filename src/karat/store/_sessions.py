"""The records of sessions, each with the number of its row: it tells what has arrived since somebody looked last."""

from __future__ import annotations

from karat.store._database import Database, Row
from karat.store._statements import EVENT_COLUMNS, QUERY_COLUMNS, SHADOW_COLUMNS


def _arrived(table: str, key: str) -> str:
    time = f"{table}.time"
    return f"(({table}.key > {key} and {time} >= ?1) or ({time} > ?2 and {time} <= ?3))"


_TOUCHED = f"""
    select session from queries where session != '' and {_arrived("queries", "?4")}
    union select session from events where session != '' and {_arrived("events", "?5")}
    union select queries.session from events join queries on queries.id = events.query
        where queries.session != '' and events.query != '' and {_arrived("events", "?5")}
    order by 1
"""  # noqa: S608 (the names are those of this module)
_TOUCHED_BY_SHADOWS = """
    select distinct session from shadow_runs where session != '' and feature = ?1 and id is not null
    and ((key > ?5 and time >= ?2) or (time > ?3 and time <= ?4)) order by 1
"""
_QUERIES = f"select key, {', '.join(QUERY_COLUMNS)} from queries where session = ? order by time, id"  # noqa: S608
_EVENTS = f"""
    select key, {", ".join(EVENT_COLUMNS)} from events where session = ?1
    union select key, {", ".join(EVENT_COLUMNS)} from events
        where query != '' and query in (select id from queries where session = ?1)
    order by time, id
"""  # noqa: S608
_SHADOWS = f"""
    select key, {", ".join(SHADOW_COLUMNS)} from shadow_runs
    where feature = ? and session = ? and id is not null order by time, id
"""  # noqa: S608
_LAST = """
    select coalesce((select max(key) from queries), 0), coalesce((select max(key) from events), 0),
    coalesce((select max(key) from shadow_runs), 0)
"""
Keys = tuple[int, int, int]
"""The numbers of the last rows of queries, events and shadow runs."""


class SessionTables:
    """The sessions of a log, found by what is new in them."""

    def __init__(self, database: Database) -> None:
        self._rows = database.rows

    def last_keys(self) -> Keys:
        """Return the numbers of the rows that arrived last."""
        ((queries, events, shadows),) = self._rows(_LAST)
        return queries, events, shadows

    def touched(self, keys: Keys, since: float, after: float, until: float) -> list[str]:
        """Return the sessions with a record that arrived after ``keys``, or whose time is in (after, until].

        What arrived counts only if it did not happen before ``since``.
        """
        return [session for (session,) in self._rows(_TOUCHED, since, after, until, keys[0], keys[1])]

    def touched_by_shadows(self, feature: str, keys: Keys, since: float, after: float, until: float) -> list[str]:
        """Return the sessions with such a shadow run of a feature."""
        return [session for (session,) in self._rows(_TOUCHED_BY_SHADOWS, feature, since, after, until, keys[2])]

    def queries(self, session: str) -> list[Row]:
        """Return the queries of a session in the order of time, each with the number of its row in front."""
        return list(self._rows(_QUERIES, session))

    def events(self, session: str) -> list[Row]:
        """Return the events of a session, and those that name a query of it."""
        return list(self._rows(_EVENTS, session))

    def shadow_runs(self, feature: str, session: str) -> list[Row]:
        """Return the shadow runs of a feature in a session."""
        return list(self._rows(_SHADOWS, feature, session))
