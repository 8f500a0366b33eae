"""A store: one SQLite file with one writer at a time, and any number of readers that cannot change it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from karat.core import InputError
from karat.files import make_own, record_folder, record_path
from karat.store import _sqlite_statements as sql
from karat.store import _sqlite_traffic as traffic_sql
from karat.store._acknowledgements import AcknowledgementTables
from karat.store._alerts import AlertTables
from karat.store._errors import explain
from karat.store._sessions import SessionTables
from karat.store._sqlite_schema import MIGRATIONS
from karat.store._traffic import TrafficTables, find_part
from karat.store._trials import TrialTables

_BUSY = 60.0  # seconds to wait for another writer
_READERS = 500  # milliseconds to wait for readers, who may stay for long
_PAGE = 1 << 14  # bytes: a query has a thousand and more, and a third of the time of storing it goes to pages
_ALL = (float("-inf"), float("inf"))
_REFUSALS = (sqlite3.IntegrityError, sqlite3.DataError, ValueError, OverflowError)
"""What a row raises that cannot be stored; other errors are those of the file."""

Row = tuple[Any, ...]


class Store:
    """The tables of a store, opened by :func:`open_store`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a block, or nothing of it; nobody else writes meanwhile."""
        with explain(self.path):
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def add_queries(self, rows: Sequence[Row], refused: dict[int, str] | None = None) -> int:
        """Add queries that are not there yet; return how many those were. A row has the columns of a record.

        A row that breaks a rule of the table raises, or, if ``refused`` is given, goes there by its index, with why.
        """
        numbered = [(*row, find_part(row[3] or row[0])) for row in rows]
        with self._traffic.counting("queries"):
            return self._add(sql.INSERT_QUERY, numbered, refused)

    def add_events(self, rows: Sequence[Row], refused: dict[int, str] | None = None) -> int:
        """Add events that are not there yet; return how many those were."""
        numbered = [(*row, find_part(row[3])) for row in rows]
        with self._traffic.counting("events"):
            return self._add(sql.INSERT_EVENT, numbered, refused)

    def add_shadow_runs(self, rows: Sequence[Row], refused: dict[int, str] | None = None) -> int:
        """Add shadow runs that are not there yet; return how many those were."""
        return self._add(sql.INSERT_SHADOW_RUN, rows, refused)

    def _add(self, statement: str, rows: Sequence[Row], refused: dict[int, str] | None) -> int:
        if not rows:
            return 0
        self._connection.execute("savepoint rows")
        try:
            count = self._connection.executemany(statement, rows).rowcount
        except _REFUSALS as error:
            self._connection.execute("rollback to rows")
            if refused is None:
                raise InputError(f"a record cannot be stored: {error}", source=str(self.path)) from None
            count = sum(self._add_one(statement, row, index, refused) for index, row in enumerate(rows))
        self._connection.execute("release rows")
        return count

    def _add_one(self, statement: str, row: Row, index: int, refused: dict[int, str]) -> int:
        try:
            return self._connection.execute(statement, row).rowcount
        except _REFUSALS as error:
            refused[index] = str(error)
            return 0

    def queries(
        self, since: float | None, until: float | None, session: str | None = None, parts: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of queries in the order of time; ``parts``, up to ``INDEXED_PARTS``, of all sessions only."""
        if parts is not None:
            return self._rows(traffic_sql.QUERIES_OF_PARTS, *_span(since, until), parts)
        if session is not None:
            return self._rows(sql.SELECT_QUERIES_OF_SESSION, *_span(since, until), session)
        return self._rows(sql.SELECT_QUERIES, *_span(since, until))

    def events(
        self, since: float | None, until: float | None, session: str | None = None, parts: int | None = None
    ) -> Iterator[Row]:
        """Yield the rows of events in the order of time; ``parts`` as for queries."""
        if parts is not None:
            return self._rows(traffic_sql.EVENTS_OF_PARTS, *_span(since, until), parts)
        if session is not None:
            return self._rows(sql.SELECT_EVENTS_OF_SESSION, *_span(since, until), session)
        return self._rows(sql.SELECT_EVENTS, *_span(since, until))

    def shadow_runs(self, feature: str, since: float | None = None, until: float | None = None) -> Iterator[Row]:
        """Yield the rows of the shadow runs of a feature in the order of time."""
        return self._rows(sql.SELECT_SHADOW_RUNS, *_span(since, until), feature)

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
        self._connection.execute(sql.SET_POSITION, (segment, position))

    def remove_position(self, segment: str) -> None:
        """Forget a segment that is gone."""
        self._connection.execute(sql.DELETE_POSITION, (segment,))

    def set_drops(self, segment: str, counts: dict[str, int]) -> None:
        """Record how many records a segment's writer dropped, by reason."""
        self._connection.executemany(sql.SET_DROPS, [(segment, reason, count) for reason, count in counts.items()])

    def drops(self) -> dict[str, dict[str, int]]:
        """Return how many records were dropped, by segment and reason."""
        counts: dict[str, dict[str, int]] = {}
        for segment, reason, count in self._rows(sql.SELECT_DROPS):
            counts.setdefault(segment, {})[reason] = count
        return counts

    def add_damage(self, segment: str, file: str, size: int, reason: str, time: float) -> None:
        """Record that a part of a segment could not be read, and where it is kept."""
        self._connection.execute(sql.INSERT_DAMAGE, (segment, file, size, reason, time))

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
        return (latency for (latency,) in self._rows(traffic_sql.LATENCIES, *_span(since, until)))

    def query_ids(self, column: str, value: str) -> list[str]:
        """Return the ids of the queries of a session or a user."""
        assert column in ("session", "user")
        return [name for (name,) in self._rows(sql.QUERY_IDS.format(column=column), value)]

    def sessions(self, user: str) -> list[str]:
        """Return the sessions of a user."""
        return [name for (name,) in self._rows(sql.SESSIONS, user)]

    def forget(self, column: str, value: str) -> int:
        """Delete what belongs to a session or a user; return how many rows that were."""
        assert column in ("session", "user")
        statements = [statement.format(column=column) for statement in sql.FORGET]
        with self._traffic.forgetting(column, value):
            return sum(self._connection.execute(statement, (value,)).rowcount for statement in statements)

    def forget_query(self, query: str) -> int:
        """Delete what names a query that is not in the store any more; return how many rows that were."""
        with self._traffic.forgetting("query", query):
            return sum(self._connection.execute(statement, (query,)).rowcount for statement in sql.FORGET_QUERY)

    def forget_damages(self) -> None:
        """Delete the list of what could not be read, whose files are gone."""
        self._connection.execute(sql.DELETE_DAMAGES)

    def expire(self, table: str, before: float) -> int:
        """Delete the rows of a table that are older than a time; return how many those were."""
        assert table in ("queries", "events", "shadow_runs")
        count = self._connection.execute(sql.EXPIRE.format(table=table), (before,)).rowcount
        self._traffic.expire(table, before)
        return count

    def add_run(self, row: Row, values: Sequence[Row]) -> bool:
        """Add a run with its values; return False if it was there already."""
        if not self._connection.execute(sql.INSERT_RUN, row).rowcount:
            return False
        self._connection.executemany(sql.INSERT_RUN_VALUE, values)
        return True

    def replace_behaviour(self, rows: Sequence[Row]) -> None:
        """Replace the judgments that come from behaviour by others."""
        self._connection.execute(sql.DELETE_BEHAVIOUR)
        self._connection.executemany(sql.INSERT_JUDGMENT, rows)

    def mark_golden(self, queries: Sequence[tuple[str, str]]) -> None:
        """Mark queries that a golden set has: the category that they have there, and their id."""
        self._connection.executemany(sql.MARK_GOLDEN, queries)

    def run_document(self, run: str) -> str | None:
        """Return the decision of a run; None if it is not recorded."""
        row = next(self._rows(sql.RUN_DOCUMENT, run), None)
        return None if row is None else str(row[0])

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
        if not self._connection.execute(sql.SET_FLAG, (key, version, time, after)).rowcount:
            return False
        self._connection.execute(sql.INSERT_FLAG_CHANGE, change)
        return True

    def flag_changes(self, key: str | None = None) -> list[Row]:
        """Return the history of a flag, or of all, in the order in which it happened."""
        if key is None:
            return list(self._rows(sql.SELECT_FLAG_CHANGES))
        return list(self._rows(sql.SELECT_CHANGES_OF_FLAG, key))

    @property
    def _traffic(self) -> TrafficTables:
        return TrafficTables(self._connection, self._rows)

    @property
    def trials(self) -> TrialTables:
        """The tables of trials."""
        return TrialTables(self._connection, self._rows)

    @property
    def alerts(self) -> AlertTables:
        """The tables of alerts, and what is counted for them."""
        return AlertTables(self._connection, self._rows)

    @property
    def sessions_by_arrival(self) -> SessionTables:
        """The records of sessions, with the numbers of their rows."""
        return SessionTables(self._rows)

    @property
    def id(self) -> str:
        """A name that no other store has, wherever the file is."""
        ((name,),) = self._rows(sql.SELECT_STORE_ID)
        return str(name)

    @property
    def acknowledgements(self) -> AcknowledgementTables:
        """The tables of what was acknowledged."""
        return AcknowledgementTables(self._connection, self._rows)

    def compact(self) -> bool:
        """Rewrite the file without a byte of what was deleted; return False if a reader still has the old pages."""
        with explain(self.path):
            self._connection.execute("vacuum")
            self._connection.execute(f"pragma busy_timeout = {_READERS}")
            ((busy, _, _),) = self._connection.execute("pragma wal_checkpoint(truncate)")
        return not busy

    def _rows(self, statement: str, *values: Any) -> Iterator[Row]:
        with explain(self.path):
            for row in self._connection.execute(statement, values):  # noqa: UP028 (it would close the cursor)
                yield row


def open_store(path: str | os.PathLike[str], *, write: bool = False, make: bool = True) -> Store:
    """Open a store for reading, or for writing; then it is made or brought to this version of karat, if need be.

    Without ``make`` one that is not there is not made: whoever looks for something in it has mistyped its name.
    """
    place = Path(path)
    with explain(place):
        if not (write and make) and not place.is_file():
            hint = "karat online ingest makes it from a journal, and karat flag set and karat trial start make one"
            raise InputError("no such store", source=str(path), hint=hint)
        if write:
            place.parent.mkdir(parents=True, exist_ok=True)
            make_own(place, 0o600)  # what people asked is for the owner's eyes
            connection = sqlite3.connect(place, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        else:
            address = f"{place.absolute().as_uri()}?mode=ro"
            connection = sqlite3.connect(
                address, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False
            )
        try:
            _prepare(connection, place, write)
        except BaseException:
            connection.close()
            raise
        _record_reads(place)
    return Store(place, connection)


def _record_reads(path: Path) -> None:
    """Record that a store is read, with what SQLite keeps beside it: no output may take its place."""
    record_path(path)
    for ending in ("-wal", "-shm"):  # they come and go
        record_folder(f"{path}{ending}")


def _prepare(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    ((version,),) = connection.execute("pragma user_version")
    if version > len(MIGRATIONS):
        problem = f"is a store of version {version}, and this karat knows {len(MIGRATIONS)}"
        raise InputError(problem, source=str(path), hint="use the karat that wrote it, or a newer one")
    if write:
        connection.execute(f"pragma page_size = {_PAGE}")  # of a new store; an older one keeps its own
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")  # a segment is removed after the commit of its records
        connection.execute("pragma secure_delete = on")
        if version < len(MIGRATIONS):
            _migrate(connection)
    elif version < len(MIGRATIONS):
        hint = "karat online ingest brings it to this version"
        raise InputError(f"is a store of version {version}, older than this karat", source=str(path), hint=hint)


def _migrate(connection: sqlite3.Connection) -> None:
    """Take the steps that are missing, each whole or not at all."""
    connection.create_function("part_of", 1, find_part, deterministic=True)
    while True:
        connection.execute("begin immediate")  # another process may have taken them meanwhile
        ((version,),) = connection.execute("pragma user_version")
        if version >= len(MIGRATIONS):
            connection.execute("rollback")
            return
        for statement in MIGRATIONS[version].split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"pragma user_version = {version + 1}")
        connection.execute("commit")


def _span(since: float | None, until: float | None) -> tuple[float, float]:
    return _ALL[0] if since is None else since, _ALL[1] if until is None else until
