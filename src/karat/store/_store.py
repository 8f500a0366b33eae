"""A store: the tables of the online half, in a file of SQLite or in PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from karat.store import _statements as sql
from karat.store import _traffic_statements as traffic_sql
from karat.store._acknowledgements import AcknowledgementTables
from karat.store._address import is_address
from karat.store._alerts import AlertTables
from karat.store._database import Database, Row
from karat.store._sessions import SessionTables
from karat.store._tables import RECORDS
from karat.store._traffic import TrafficTables, find_part
from karat.store._trials import TrialTables

_ALL = (float("-inf"), float("inf"))


class Store:
    """The tables of a store, opened by :func:`open_store`."""

    def __init__(self, database: Database) -> None:
        self._database, self._rows = database, database.rows

    @property
    def place(self) -> str:
        """What messages call the store: the path of a file, or an address."""
        return self._database.place

    @property
    def version(self) -> int:
        """How many steps the tables of the store have taken."""
        return self._database.version

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._database.close()

    def transaction(self) -> AbstractContextManager[None]:
        """Do all of a block, or nothing of it; nobody else writes meanwhile."""
        return self._database.transaction()

    def add_queries(
        self, rows: Sequence[Row], refused: dict[int, str] | None = None, new: set[str] | None = None
    ) -> int:
        """Add queries that are not there yet; return how many those were. A row has the columns of a record.

        A row that breaks a rule of the table raises, or, if ``refused`` is given, goes there by its index, with why.
        The ids of those that were not there yet go to ``new``, if it is given.
        """
        return self._database.add("queries", [(*row, find_part(row[3] or row[0])) for row in rows], refused, new)

    def add_events(self, rows: Sequence[Row], refused: dict[int, str] | None = None) -> int:
        """Add events that are not there yet; return how many those were."""
        return self._database.add("events", [(*row, find_part(row[3])) for row in rows], refused)

    def add_shadow_runs(self, rows: Sequence[Row], refused: dict[int, str] | None = None) -> int:
        """Add shadow runs that are not there yet; return how many those were."""
        return self._database.add("shadow_runs", rows, refused)

    def queries(
        self, since: float | None, until: float | None, session: str | None = None, parts: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of queries in the order of time; ``parts``, up to ``PARTS``, of all sessions only."""
        if parts is not None:
            is_indexed = parts <= traffic_sql.INDEXED_PARTS
            statement = traffic_sql.QUERIES_OF_INDEXED_PARTS if is_indexed else traffic_sql.QUERIES_OF_PARTS
            return self._database.stream(statement, *_span(since, until), parts)
        if session is not None:
            return self._database.stream(sql.SELECT_QUERIES_OF_SESSION, *_span(since, until), session)
        return self._database.stream(sql.SELECT_QUERIES, *_span(since, until))

    def events(
        self, since: float | None, until: float | None, session: str | None = None, parts: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of events in the order of time; ``parts`` as for queries."""
        if parts is not None:
            is_indexed = parts <= traffic_sql.INDEXED_PARTS
            statement = traffic_sql.EVENTS_OF_INDEXED_PARTS if is_indexed else traffic_sql.EVENTS_OF_PARTS
            return self._database.stream(statement, *_span(since, until), parts)
        if session is not None:
            return self._database.stream(sql.SELECT_EVENTS_OF_SESSION, *_span(since, until), session)
        return self._database.stream(sql.SELECT_EVENTS, *_span(since, until))

    def query(self, query: str) -> Row | None:
        """Return the row of a query by its id; None if there is none."""
        return next(self._rows(sql.SELECT_QUERY, query), None)

    def events_of(self, query: str) -> list[Row]:
        """Return the rows of the events that name a query, in the order of time."""
        return list(self._rows(sql.SELECT_EVENTS_OF_QUERY, query))

    def events_with_homes(self, since: float | None, until: float | None, idle: float) -> Iterator[Row]:
        """Yield the rows of events, each followed by the session of the query that it names.

        That is None if no such query was asked in the span, at most ``idle`` seconds before the event.
        """
        return self._database.stream(traffic_sql.EVENTS_WITH_HOMES, *_span(since, until), idle)

    def shadow_runs(self, feature: str, since: float | None = None, until: float | None = None) -> Iterator[Row]:
        """Yield the rows of the shadow runs of a feature in the order of time."""
        return self._database.stream(sql.SELECT_SHADOW_RUNS, *_span(since, until), feature)

    def shadow_ids(self, feature: str) -> set[str]:
        """Return the ids of the shadow runs of a feature."""
        return {name for (name,) in self._rows(sql.SELECT_SHADOW_IDS, feature)}

    def shadow_features(self) -> dict[str, int]:
        """Return how many shadow runs each feature has, in the order of their latest."""
        return {feature: count for feature, count, _ in self._rows(sql.SELECT_FEATURES)}

    def positions(self) -> dict[str, int]:
        """Return how far each segment of the journal has been read."""
        return dict(self._rows(sql.SELECT_POSITIONS))

    def set_position(self, segment: str, position: int) -> None:
        """Record how far a segment has been read."""
        self._database.execute(sql.SET_POSITION, (segment, position))

    def remove_position(self, segment: str) -> None:
        """Forget a segment that is gone."""
        self._database.execute(sql.DELETE_POSITION, (segment,))

    def set_drops(self, segment: str, counts: dict[str, int]) -> None:
        """Record how many records a segment's writer dropped, by reason."""
        self._database.execute_many(sql.SET_DROPS, [(segment, reason, count) for reason, count in counts.items()])

    def add_drops(self, segment: str, counts: dict[str, int]) -> None:
        """Add to how many records of a segment were dropped, or stored without a field, by reason or field."""
        self._database.execute_many(sql.ADD_DROPS, [(segment, reason, count) for reason, count in counts.items()])

    def drops(self) -> dict[str, dict[str, int]]:
        """Return how many records were dropped, by segment and reason."""
        counts: dict[str, dict[str, int]] = {}
        for segment, reason, count in self._rows(sql.SELECT_DROPS):
            counts.setdefault(segment, {})[reason] = count
        return counts

    def add_damage(self, segment: str, file: str, size: int, reason: str, time: float) -> None:
        """Record that a part of a segment could not be read, and where it is kept."""
        self._database.execute(sql.INSERT_DAMAGE, (segment, file, size, reason, time))

    def damages(self) -> list[Row]:
        """Return what could not be read: segment, file, bytes, reason and time."""
        return list(self._rows(sql.SELECT_DAMAGES))

    def summary(self, table: str) -> tuple[int, float | None, float | None]:
        """Return how many queries, events or shadow runs there are, and the times of the first and the last."""
        ((count, first, last),) = self._rows(traffic_sql.SUMMARIES[table])
        return count, first, last

    def count_without_session(self) -> int:
        """Return how many queries have no session."""
        ((count,),) = self._rows(sql.COUNT_WITHOUT_SESSION)
        return int(count)

    def count_odd_outcomes(self) -> int:
        """Return how many task outcomes have a value that is not from 0 to 1."""
        ((count,),) = self._rows(sql.COUNT_ODD_OUTCOMES)
        return int(count)

    def count_oddities(self, since: float | None, until: float | None) -> dict[str, int]:
        """Return how much is odd about the records of a span of time, by name: of all, without rebuilding sessions."""
        statements = {
            "without_session": traffic_sql.COUNT_WITHOUT_SESSION,
            "odd_outcomes": traffic_sql.COUNT_ODD_OUTCOMES,
            "negative_latencies": traffic_sql.COUNT_NEGATIVE_LATENCIES,
        }
        counts = {name: next(self._rows(statement, *_span(since, until))) for name, statement in statements.items()}
        return {name: int(count) for name, (count,) in counts.items()}

    def traffic(self, since: float | None, until: float | None) -> list[Row]:
        """Return the queries of a span of time by hour and intent; see :meth:`TrafficTables.read`."""
        return self._traffic.read(*_span(since, until))

    def times(self, since: float | None, until: float | None) -> tuple[float | None, float | None]:
        """Return the times of the first and the last query of a span of time."""
        ((first,),), ((last,),) = (
            self._rows(statement, *_span(since, until)) for statement in (traffic_sql.FIRST_TIME, traffic_sql.LAST_TIME)
        )
        return first, last

    def latencies(self, since: float | None, until: float | None) -> Iterator[float]:
        """Yield the latencies of the queries of a span of time, in milliseconds, where they were measured."""
        return (latency for (latency,) in self._database.stream(traffic_sql.LATENCIES, *_span(since, until)))

    def list_known(self, table: str, ids: Iterable[str]) -> set[str]:
        """Return those of some ids that records of a table have, whenever they were: few, as all days are searched."""
        assert table in RECORDS
        statement = f"select id from {table} where id = ? limit 1"  # noqa: S608 (checked)
        return {name for id_ in ids for (name,) in self._rows(statement, id_)}

    def query_ids(self, column: str, value: str) -> list[str]:
        """Return the ids of the queries of a session or a user."""
        assert column in ("session", "user")
        return [name for (name,) in self._rows(sql.QUERY_IDS.format(column=f'"{column}"'), value)]

    def sessions(self, user: str) -> list[str]:
        """Return the sessions of a user."""
        return [name for (name,) in self._rows(sql.SESSIONS, user)]

    def forget(self, column: str, value: str) -> int:
        """Delete what belongs to a session or a user; return how many rows that were."""
        assert column in ("session", "user")
        statements = [statement.format(column=f'"{column}"') for statement in sql.FORGET]
        with self._traffic.forgetting(column, value):
            return sum(self._database.execute(statement, (value,)) for statement in statements)

    def forget_query(self, query: str) -> int:
        """Delete what names a query that is not in the store any more; return how many rows that were."""
        with self._traffic.forgetting("query", query):
            return sum(self._database.execute(statement, (query,)) for statement in sql.FORGET_QUERY)

    def forget_damages(self) -> None:
        """Delete the list of what could not be read, whose files are gone."""
        self._database.execute(sql.DELETE_DAMAGES)

    def expire(self, table: str, before: float) -> int:
        """Delete the rows of a table that are older than a time; return how many those were."""
        count = self._database.remove_before(table, before)
        self._traffic.expire(table, before)
        return count

    def add_run(self, row: Row, values: Sequence[Row]) -> bool:
        """Add a run with its values; return False if it was there already."""
        if not self._database.execute(sql.INSERT_RUN, row):
            return False
        self._database.execute_many(sql.INSERT_RUN_VALUE, values)
        return True

    def replace_behaviour(self, rows: Sequence[Row]) -> None:
        """Replace the judgments that come from behaviour by others."""
        self._database.execute(sql.DELETE_BEHAVIOUR)
        self._database.execute_many(sql.INSERT_JUDGMENT, rows)

    def mark_golden(self, queries: Sequence[tuple[str, str]]) -> None:
        """Mark queries that a golden set has: the category that they have there, and their id."""
        self._database.execute_many(sql.MARK_GOLDEN, queries)

    def run_document(self, run: str) -> tuple[str, str] | None:
        """Return the decision on a run, and what was tried; None if it is not recorded."""
        row = next(self._rows(sql.RUN_DOCUMENT, run), None)
        return None if row is None else (str(row[0]), str(row[1] or ""))

    def latest_run(self) -> tuple[Row, list[Row]] | None:
        """Return the run that was recorded last, and its values by measure."""
        row = next(self._rows(sql.LATEST_RUN), None)
        return None if row is None else (row, list(self._rows(sql.RUN_VALUES, row[0])))

    def flags(self) -> list[Row]:
        """Return all flags: key, version, time and document."""
        return list(self._rows(sql.SELECT_FLAGS))

    def flag(self, key: str) -> Row | None:
        """Return a flag: key, version, time and document; None if there is none."""
        return next(self._rows(sql.SELECT_FLAG, key), None)

    def change_flag(self, change: Row) -> bool:
        """Set a flag and add the change to its history; return False if the version before is not the flag's.

        A change has flag, version, time, author, reason, and the documents before and after.
        """
        key, version, time, *_, after = change
        if not self._database.execute(sql.SET_FLAG, (key, version, time, after)):
            return False
        self._database.execute(sql.INSERT_FLAG_CHANGE, change)
        return True

    def flag_changes(self, key: str | None = None) -> list[Row]:
        """Return the history of a flag, or of all, in the order in which it happened."""
        if key is None:
            return list(self._rows(sql.SELECT_FLAG_CHANGES))
        return list(self._rows(sql.SELECT_CHANGES_OF_FLAG, key))

    @property
    def _traffic(self) -> TrafficTables:
        return TrafficTables(self._database)

    @property
    def trials(self) -> TrialTables:
        """The tables of trials."""
        return TrialTables(self._database)

    @property
    def alerts(self) -> AlertTables:
        """The tables of alerts, and what is counted for them."""
        return AlertTables(self._database)

    @property
    def sessions_by_arrival(self) -> SessionTables:
        """The records of sessions, with the numbers of their rows."""
        return SessionTables(self._database)

    @property
    def id(self) -> str:
        """A name that no other store has, wherever the file is."""
        ((name,),) = self._rows(sql.SELECT_STORE_ID)
        return str(name)

    @property
    def acknowledgements(self) -> AcknowledgementTables:
        """The tables of what was acknowledged."""
        return AcknowledgementTables(self._database)

    def measure(self) -> int:
        """Return how many bytes the store takes."""
        return self._database.measure()

    def compact(self) -> bool:
        """Rewrite the store without a byte of what was deleted; return False if a reader still has the old pages."""
        return self._database.compact()


def open_store(path: str | os.PathLike[str], *, write: bool = False, make: bool = True) -> Store:
    """Open a store for reading, or for writing; then it is made or brought to this version of karat, if need be.

    ``path`` is a file, or an address that begins with ``postgresql://``. Without ``make`` one that is not there is not
    made: whoever looks for something in it has mistyped its name.
    """
    if is_address(path):
        from karat.store._postgres import open_postgres

        return Store(open_postgres(str(path), write=write, make=make))
    from karat.store._sqlite import open_sqlite

    return Store(open_sqlite(path, write=write, make=make))


def _span(since: float | None, until: float | None) -> tuple[float, float]:
    return _ALL[0] if since is None else since, _ALL[1] if until is None else until
