"""A store in SQLite: one file with one writer at a time, and any number of readers that cannot change it."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from karat.core import InputError, SystemFailed
from karat.files import make_own, record_folder, record_path
from karat.store import _traffic_statements as traffic
from karat.store._address import read_path
from karat.store._database import HALF, Row
from karat.store._sqlite_schema import MIGRATIONS
from karat.store._tables import RECORDS
from karat.store._traffic import find_part

_BUSY = 60.0  # seconds to wait for another writer
_READERS = 500  # milliseconds to wait for readers, who may stay for long
_PAGE = 1 << 14  # bytes: a query has a thousand and more, and a third of the time of storing it goes to pages
_HINTS = dict.fromkeys(
    (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM),
    "SQLite keeps files beside a store, also while it is read: get the right to write in its folder, or copy the store "
    "to one where you have it",
)
_REFUSALS = (sqlite3.IntegrityError, sqlite3.DataError, ValueError, OverflowError)
"""What a row raises that cannot be stored; other errors are those of the file."""
_INSERT = {  # not "or ignore", which would also pass over what breaks a rule of the table
    table: f"insert into {table} ({', '.join(columns)}) values ({', '.join('?' * len(columns))}) "  # noqa: S608 (ours)
    "on conflict (id) do nothing"
    for table, columns in RECORDS.items()
}
_LAST_KEY = {"queries": "select max(key) from queries", "events": "select max(key) from events"}
_NEW_IDS = {table: f"select id from {table} where key > ?" for table in _LAST_KEY}  # noqa: S608 (one of ours)
_COUNT = {
    "queries": f"""
        insert into query_traffic {traffic.COUNT_QUERIES} where key > ?1 group by 1, 2
        on conflict (hour, intent) do update set {traffic.ADD_QUERIES}
    """,
    "events": f"""
        insert into event_traffic {traffic.COUNT_EVENTS} where key > ?1 group by 1
        on conflict (hour) do update set {traffic.ADD_EVENTS}
    """,
}
"""Counts the rows after a key, which have just been added."""


class SqliteDatabase:
    """An open file of SQLite; see :class:`karat.store._database.Database`."""

    hint = " indexed by queries_by_origin"
    version = len(MIGRATIONS)

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.place, self._path, self._connection = str(path), path, connection

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a block, or nothing of it; nobody else writes meanwhile."""
        with transact(self._connection, self._path):
            yield

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; return how many rows it changed."""
        return self._connection.execute(statement, values).rowcount

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement with each of several rows; return how many rows of the table were changed."""
        return self._connection.executemany(statement, rows).rowcount

    def rows(self, statement: str, *values: Any) -> Iterator[Row]:
        """Yield the rows that a statement selects, as they are needed."""
        with explain(self._path):
            for row in self._connection.execute(statement, values):  # noqa: UP028 (it would close the cursor)
                yield row

    stream = rows

    def add(self, table: str, rows: Sequence[Row], refused: dict[int, str] | None, new: set[str] | None = None) -> int:
        """Add records to a table, and count their traffic; return how many were not there yet."""
        if not rows:
            return 0
        before = self._last_key(table)
        count = self._insert(_INSERT[table], rows, refused)
        if table in _COUNT and self._last_key(table) > before:
            self._connection.execute(_COUNT[table], (before,))
        if new is not None:
            new.update(name for (name,) in self._connection.execute(_NEW_IDS[table], (before,)))
        return count

    def _last_key(self, table: str) -> int:
        if table not in _LAST_KEY:
            return 0
        ((key,),) = self._connection.execute(_LAST_KEY[table])
        return key or 0

    def _insert(self, statement: str, rows: Sequence[Row], refused: dict[int, str] | None) -> int:
        self._connection.execute("savepoint rows")
        try:
            count = self._connection.executemany(statement, rows).rowcount
        except _REFUSALS as error:
            self._connection.execute("rollback to rows")
            if refused is None:
                raise InputError(f"a record cannot be stored: {error}", source=self.place) from None
            count = sum(self._insert_one(statement, row, index, refused) for index, row in enumerate(rows))
        self._connection.execute("release rows")
        return count

    def _insert_one(self, statement: str, row: Row, index: int, refused: dict[int, str]) -> int:
        try:
            return self._connection.execute(statement, row).rowcount
        except _REFUSALS as error:
            refused[index] = str(error)
            return 0

    def remove_before(self, table: str, time: float) -> int:
        """Remove the records of a table that are older than a time; return how many those were."""
        assert table in RECORDS
        return self.execute(f"delete from {table} where time < ?", (time,))  # noqa: S608 (one of ours)

    def measure(self) -> int:
        """Return how many bytes the file has."""
        return self._path.stat().st_size

    def find_damage(self) -> list[str]:
        """Return what SQLite says is wrong with the file."""
        return [text for (text,) in self.rows("pragma integrity_check") if text != "ok"]

    def compact(self) -> bool:
        """Rewrite the file without a byte of what was deleted; return False if a reader still has the old pages."""
        with explain(self._path):
            self._connection.execute("vacuum")
            self._connection.execute(f"pragma busy_timeout = {_READERS}")
            ((busy, _, _),) = self._connection.execute("pragma wal_checkpoint(truncate)")
        return not busy

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table."""
        return [name for _, name, *_ in self.rows(f"pragma table_info({table})")]

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write rows of another store into a table as they are, numbers of rows included."""
        names = ", ".join(f'"{column}"' for column in columns)
        marks = ", ".join("?" * len(columns))
        self.execute_many(f"insert into {table} ({names}) values ({marks})", rows)  # noqa: S608 (names of tables)


def open_sqlite(path: str | os.PathLike[str], *, write: bool, make: bool) -> SqliteDatabase:
    """Open a store in a file."""
    place = read_path(path)
    with explain(place):
        if place.is_dir():
            raise InputError("is a folder, and a store is a file", source=str(path))
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
    return SqliteDatabase(place, connection)


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


@contextmanager
def transact(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Do all of a block, or nothing of it; nobody else writes to the file meanwhile."""
    with explain(path):
        connection.execute("begin immediate")
        try:
            yield
            connection.execute("commit")
        except BaseException:
            if connection.in_transaction:
                connection.execute("rollback")
            raise


@contextmanager
def explain(path: Path) -> Iterator[None]:
    """Raise errors of the database and the disk as errors of karat."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        if _is_full(error):
            problem = "the disk is full: nothing of this was stored, and what is in the journal stays there"
            raise SystemFailed(f"{path}: {problem}; make room, and try again") from None
        if isinstance(error, OSError):
            raise InputError(f"cannot be used as a store: {error.strerror}", source=str(path)) from None
        hint = _HINTS.get(error.sqlite_errorcode & 0xFF, "is the disk full, or does another process hold the store?")
        raise SystemFailed(f"{path}: cannot be used: {error}; {hint}") from None
    except sqlite3.DatabaseError as error:
        hint = "restore it from a backup, or move it away: karat makes a new one, and the journal is kept"
        raise InputError(f"cannot be used as a store: {error}", source=str(path), hint=hint) from None
    except UnicodeEncodeError:
        raise InputError(HALF, source=str(path)) from None


def _is_full(error: sqlite3.OperationalError | OSError) -> bool:
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return error.sqlite_errorcode == sqlite3.SQLITE_FULL
