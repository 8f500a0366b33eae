"""A store in PostgreSQL: any number of ingesters, one at a time, and readers that see one moment of it."""
# ruff: noqa: S608 (the names are those of this package; values are parameters)

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from karat.core import InputError, SystemFailed
from karat.net import require_package
from karat.store import _traffic_statements as traffic
from karat.store._address import Address, parse_address
from karat.store._database import HALF, Row
from karat.store._postgres_schema import FIRST, MIGRATIONS, NUMBERS
from karat.store._tables import RECORDS

if TYPE_CHECKING:
    import psycopg

_VERSION = FIRST + len(MIGRATIONS) - 1
_BUSY, _READERS = 60_000, 500  # milliseconds to wait for another writer, and for readers, who may stay for long
_PIECE = 2000  # rows that a reader holds at once
_DAY = 86400
_MARK, _ESCAPED = "\ufdd0", re.compile("\ufdd0(.)", re.DOTALL)
"""PostgreSQL has no NUL in a text: it is written as the mark and 0, and the mark, which no text should have, and 1."""


def _insert(table: str) -> str:
    columns, new = ", ".join(RECORDS[table]), f"new_{table}"
    new_rows = f"select {columns} from {new}"
    added = f"with added as (insert into {table} ({columns}) {new_rows} on conflict do nothing returning id)"
    own = f"(select * from {new} where id in (select id from added)) as {table}"
    counted = {
        "queries": f"""
            insert into query_traffic {traffic.COUNT_QUERIES.replace("from queries", f"from {own}")} group by 1, 2
            on conflict (hour, intent) do update set {traffic.ADD_QUERIES}
        """,
        "events": f"""
            insert into event_traffic {traffic.COUNT_EVENTS.replace("from events", f"from {own}")} group by 1
            on conflict (hour) do update set {traffic.ADD_EVENTS}
        """,
    }.get(table)
    return f"{added}{f', counted as ({counted})' if counted else ''} select id from added"


def _make_new(table: str) -> str:
    types = ", ".join(f"{column} {NUMBERS[table].get(column, 'text')}" for column in RECORDS[table])
    return f"create temp table if not exists new_{table} ({types}) on commit delete rows"


_INSERT = {table: _insert(table) for table in RECORDS}
"""Adds what is in a table of new rows, counts what was not there yet, and returns the ids of those."""
_PARTITIONS = """
    select relname from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = to_regclass($1)
    and relname ~ '_[0-9]{8}$' and relname < $1 || '_' || $2 order by relname
"""
_SIZE = """
    select coalesce(sum(pg_relation_size(pg_class.oid)), 0)::bigint from pg_class
    join pg_namespace on pg_namespace.oid = relnamespace where nspname = $1
"""
_COLUMNS = """
    select attname from pg_attribute where attrelid = to_regclass(?) and attnum > 0 and not attisdropped order by attnum
"""
_NUMBERED = """
    select pg_get_serial_sequence($1, attname), attname from pg_attribute
    where attrelid = to_regclass($1) and attidentity != ''
"""


class PostgresDatabase:
    """An open connection; see :class:`karat.store._database.Database`."""

    hint = ""
    version = _VERSION

    def __init__(self, address: Address, connection: psycopg.Connection[Row]) -> None:
        self.place, self._address, self._connection = address.text, address, connection
        self._names = count(1)
        self._days: set[tuple[str, int]] = set()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a block, or nothing of it; nobody else writes meanwhile.

        Those who write wait for each other, so that the numbers of rows tell what arrived last, as in SQLite.
        """
        with _explain(self._address):
            try:
                with self._connection.transaction():
                    _lock(self._connection, self._address.schema)
                    yield
            finally:
                self._days.clear()  # those that were made in it may be gone again

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; return how many rows it changed."""
        return self._connection.execute(_number(statement), [_adapt(value) for value in values]).rowcount

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run a statement with each of several rows; return how many rows of the table were changed."""
        if not rows:
            return 0
        with self._connection.cursor() as cursor:
            cursor.executemany(_number(statement), [[_adapt(value) for value in row] for row in rows])
            return cursor.rowcount

    def rows(self, statement: str, *values: Any) -> Iterator[Row]:
        """Yield the rows that a statement selects, which fit into memory."""
        with _explain(self._address):
            cursor = self._connection.execute(_number(statement), [_adapt(value) for value in values])
        return map(_restore, cursor)

    def stream(self, statement: str, *values: Any) -> Iterator[Row]:
        """Yield rows in pieces; several streams may be open, and end in any order."""
        import psycopg

        name = f"rows_{next(self._names)}"
        alone = self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        # Outside of a transaction the server keeps the rows until the cursor is closed.
        cursor = psycopg.RawServerCursor(self._connection, name, withhold=alone)
        with _explain(self._address), cursor:
            cursor.itersize = _PIECE
            cursor.execute(_number(statement), [_adapt(value) for value in values])
            yield from map(_restore, cursor)

    def add(self, table: str, rows: Sequence[Row], refused: dict[int, str] | None, new: set[str] | None = None) -> int:
        """Add records to a table, and count their traffic; return how many were not there yet."""
        if not rows:
            return 0
        errors = _list_refusals()
        try:
            with self._connection.transaction():
                return self._insert(table, rows, new)
        except errors as error:
            self._days.clear()  # their tables went with the rows
            if refused is None:
                raise InputError(f"a record cannot be stored: {_first_line(error)}", source=self.place) from None
        added = 0
        for index, row in enumerate(rows):
            try:
                with self._connection.transaction():
                    added += self._insert(table, [row], new)
            except errors as error:
                self._days.clear()
                refused[index] = _first_line(error)
        return added

    def _insert(self, table: str, rows: Sequence[Row], new: set[str] | None) -> int:
        self._make_partitions(table, rows)
        self._connection.execute(_make_new(table))
        self._connection.execute(f"delete from new_{table}")
        once = {row[0]: row for row in reversed(rows)}  # of rows with the same id the first counts
        self._copy(f"new_{table}", RECORDS[table], [row for row in rows if once.pop(row[0], None) is not None])
        ids = [name for (name,) in map(_restore, self._connection.execute(_INSERT[table]))]
        if new is not None:
            new.update(ids)
        return len(ids)

    def _copy(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        statement = f"copy {table} ({', '.join(columns)}) from stdin"
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row([_adapt(value) for value in row])

    def _make_partitions(self, table: str, rows: Sequence[Row], column: int = 1) -> None:
        days = {(table, math.floor(row[column] / _DAY)) for row in rows if _is_finite(row[column])}
        for named, day in sorted(days - self._days):
            if abs(day) < 1 << 30:
                self._connection.execute("select add_partition($1, $2)", (named, day))
        self._days |= days

    def remove_before(self, table: str, time: float) -> int:
        """Remove the records of a table that are older than a time; return how many those were.

        Whole days are dropped.
        """
        from datetime import UTC, datetime

        count = 0
        if time >= 0:
            day = datetime.fromtimestamp(min(time, 253402300799.0), UTC).strftime("%Y%m%d")
            for (name,) in self._connection.execute(_PARTITIONS, (table, day)).fetchall():
                count += self._connection.execute(f'select from "{name}"').rowcount
                self._connection.execute(f'drop table "{name}"')
        return count + self.execute(f"delete from {table} where time < ?", (time,))

    def measure(self) -> int:
        """Return how many bytes the tables and indexes of the store take."""
        ((size,),) = self.rows(_SIZE, self._address.schema)
        return int(size)

    def find_damage(self) -> list[str]:
        """Return nothing: PostgreSQL looks for damage itself, by its checksums."""
        return []

    def compact(self) -> bool:
        """Rewrite the tables without a byte of what was deleted; what PostgreSQL wrote elsewhere stays there."""
        import psycopg

        with _explain(self._address):
            self._connection.execute(f"set lock_timeout = {_READERS}")
            try:
                for table in (*RECORDS, "judgments", "damages"):
                    self._connection.execute(f"vacuum (full) {table}")
            except psycopg.errors.LockNotAvailable:
                return False
            finally:
                self._connection.execute(f"set lock_timeout = {_BUSY}")
        return True

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table."""
        return [name for (name,) in self.rows(_COLUMNS, table)]

    def fill(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Write rows of another store into a table as they are, numbers of rows included."""
        if table in RECORDS:
            self._make_partitions(table, rows, columns.index("time"))
        self._copy(table, [f'"{column}"' for column in columns], rows)
        numbered = self._connection.execute(_NUMBERED, (table,)).fetchall()
        for sequence, column in [(f"{table}_key", "key")] if table in RECORDS else numbered:
            last = f"(select max({column}) from {table})"
            self._connection.execute(f"select setval($1, {last}) where {last} is not null", (sequence,))


def open_postgres(text: str, *, write: bool, make: bool) -> PostgresDatabase:
    """Open a store at an address. A reader sees it as it is now, as long as it is open."""
    address = parse_address(text)
    psycopg = require_package("psycopg", purpose="a store in PostgreSQL", extra="postgres")
    options = f"-c search_path={address.schema},pg_temp -c lock_timeout={_BUSY} -c client_encoding=UTF8"
    settings = {"connect_timeout": "10", "application_name": "karat"} | address.parameters
    with _explain(address):
        connection = psycopg.connect(
            **settings,
            options=options,
            autocommit=True,
            cursor_factory=psycopg.RawCursor,
            row_factory=psycopg.rows.tuple_row,
        )
        try:
            _prepare(connection, address, write=write, make=make)
        except BaseException:
            connection.close()
            raise
    return PostgresDatabase(address, connection)


def _prepare(connection: psycopg.Connection[Row], address: Address, *, write: bool, make: bool) -> None:
    version = _read_version(connection, address)
    if version > _VERSION:
        problem = f"is a store of version {version}, and this karat knows {_VERSION}"
        raise InputError(problem, source=address.text, hint="use the karat that wrote it, or a newer one")
    if not version and not (write and make):
        raise InputError("no such store", source=address.text, hint="karat store migrate makes it, by its owner")
    if not write:
        if version < _VERSION:
            problem, hint = (
                f"is a store of version {version}, older than this karat",
                "karat store migrate changes that",
            )
            raise InputError(problem, source=address.text, hint=hint)
        connection.execute("begin isolation level repeatable read, read only")
        return
    # A segment is removed after the commit of its records, which has to be on the disk then.
    connection.execute("set synchronous_commit = on") if _setting(connection, "synchronous_commit") == "off" else None
    if version < _VERSION:
        _migrate(connection, address)


def _migrate(connection: psycopg.Connection[Row], address: Address) -> None:
    """Take the steps that are missing, all of them or none."""
    if _setting(connection, "server_encoding") != "UTF8":
        hint = "make it with: create database NAME encoding 'UTF8' template template0"
        raise InputError("the database does not hold texts in UTF-8", source=address.text, hint=hint)
    with connection.transaction():
        _lock(connection, address.schema)
        connection.execute(f'create schema if not exists "{address.schema}"')
        version = _read_version(connection, address)  # another process may have taken them meanwhile
        if not version:
            connection.execute("create table version (number bigint not null)")
            connection.execute(f"insert into version values ({FIRST - 1})")
            version = FIRST - 1
        for step in MIGRATIONS[version - FIRST + 1 :]:
            connection.execute(step)
        connection.execute("update version set number = $1", (_VERSION,))


def _read_version(connection: psycopg.Connection[Row], address: Address) -> int:
    """Return the version of a store; 0 if there is none."""
    row = connection.execute("select to_regclass($1)::text", (f'"{address.schema}".version',)).fetchone()
    if row is None or row[0] is None:
        return 0
    ((version,),) = connection.execute(f'select number from "{address.schema}".version').fetchall()
    return int(version)


def _lock(connection: psycopg.Connection[Row], schema: str) -> None:
    connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 7))", (f"karat {schema}",))


def _setting(connection: psycopg.Connection[Row], name: str) -> str:
    row = connection.execute("select current_setting($1)", (name,)).fetchone()
    return str(row[0]) if row else ""


@lru_cache(maxsize=256)
def _number(statement: str) -> str:
    """Return a statement with parameters as PostgreSQL numbers them.

    >>> _number("select ? + ?"), _number("select ?2 - ?1")
    ('select $1 + $2', 'select $2 - $1')
    """
    numbers = count(1)
    return re.sub(r"\?(\d*)", lambda match: f"${match[1] or next(numbers)}", statement)


def _adapt(value: Any) -> Any:
    """Return a value as SQLite would keep it, without what PostgreSQL has no text for."""
    if value.__class__ is str:
        if "\0" in value or _MARK in value:
            return value.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
        return value
    if value.__class__ is bool:
        return int(value)
    return None if value != value else value


def _restore(row: Row) -> Row:
    for value in row:
        if value.__class__ is str and _MARK in value:
            return tuple(map(_unescape, row))
    return row


def _unescape(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _ESCAPED.sub(lambda match: _MARK if match[1] == "1" else "\0", value)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _list_refusals() -> tuple[type[Exception], ...]:
    """Return what a row raises that cannot be stored; other errors are those of the database."""
    import psycopg

    limit = psycopg.errors.ProgramLimitExceeded  # such as an id that is too long for an index
    return psycopg.DataError, psycopg.IntegrityError, limit, ValueError, OverflowError


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@contextmanager
def _explain(address: Address) -> Iterator[None]:
    """Raise errors of the database as errors of karat."""
    import psycopg

    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        hint = "connect by a role that may: docs/store.md lists what each needs"
        raise InputError(f"the role may not do this: {_first_line(error)}", source=address.text, hint=hint) from None
    except psycopg.errors.DiskFull as error:
        problem = "the server's disk is full: nothing of this was stored, and what is in the journal stays there"
        raise SystemFailed(f"{address.text}: {problem}; make room, and try again ({_first_line(error)})") from None
    except psycopg.OperationalError as error:
        problem = f"cannot be used: {_first_line(error)}; what is in the journal stays there"
        raise SystemFailed(f"{address.text}: {problem}") from None
    except UnicodeEncodeError:
        raise InputError(HALF, source=address.text) from None
    except psycopg.Error as error:
        raise SystemFailed(f"{address.text}: PostgreSQL refused a statement: {_first_line(error)}") from None
