"""Spans that were received and wait for the rest of their trace: a SQLite file of its own beside a store.

What is in it survives the death of the receiver. Spans that were written to the log stay for a while without what they
said, so that one that comes twice is known, and one that comes late finds its record.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from karat.core import InputError
from karat.files import make_own
from karat.store._sqlite import explain, transact

WAITING, WRITING, WRITTEN = 0, 1, 2
_VERSION = 1
_BUSY = 30.0
_OVERHEAD = 1000  # bytes that a span takes beside what it says
_READERS = 500  # milliseconds to wait for readers before the log of changes is emptied
_SCHEMA = (
    """create table spans (
        number integer primary key, trace text not null, span text not null, parent text not null, kind text not null,
        start integer not null, end integer not null, session text not null, user text not null, payload blob,
        state integer not null default 0, record text not null default '', unique (trace, span))""",
    "create index spans_waiting on spans (trace) where state < 2",
    """create table traces (
        trace text primary key, first real not null, root integer not null, due real not null) without rowid""",
    "create index traces_due on traces (due)",
    "create table counts (name text primary key, count integer not null) without rowid",
)
_INSERT = (
    "insert or ignore into spans (trace, span, parent, kind, start, end, session, user, payload) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_EXPECT = """insert into traces (trace, first, root, due)
    values (:trace, :now, max(:root, exists (select 1 from spans where trace = :trace and state = 2)), 0)
    on conflict (trace) do update set root = max(root, excluded.root)"""
_SET_DUE = """update traces set due = min(first + :longest, :now + case when root then :settle else :patience end)
    where trace = :trace"""
_COLUMNS = "span, parent, kind, start, end, session, user, payload, record"


class Waits(NamedTuple):
    """For how many seconds a trace waits for more."""

    settle: float
    """After its latest span, if its first one has come or a part of it is written."""
    patience: float
    """After its latest span, if not."""
    longest: float
    """After the first that came, in any case."""


class BufferedSpan(NamedTuple):
    """A span in the buffer."""

    span: str
    parent: str
    kind: str
    start: int
    """Nanoseconds since 1970."""
    end: int
    session: str
    user: str
    payload: bytes | None
    record: str
    """The id of the record that it is in, if it was written."""


class SpanBuffer:
    """The spans of one receiver; :func:`open_span_buffer` makes one. Its caller sees to it that one thread writes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection = path, connection

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a block, or nothing of it."""
        with transact(self._connection, self.path):
            yield

    def add(self, rows: Sequence[tuple[Any, ...]]) -> int:
        """Add spans that are not there yet: trace, span, parent, kind, start, end, session, user, payload.

        Return how many are new.
        """
        return self._connection.executemany(_INSERT, rows).rowcount if rows else 0

    def expect(self, traces: Mapping[str, bool], now: float, waits: Waits) -> None:
        """Record when the traces of new spans are due, and whether the first span of each is among them."""
        rows = [{"trace": trace, "root": root, "now": now, **waits._asdict()} for trace, root in traces.items()]
        self._connection.executemany(_EXPECT, rows)
        self._connection.executemany(_SET_DUE, rows)

    def list_due(self, now: float, limit: int) -> list[str]:
        """Return traces that are due, the longest due first."""
        rows = self._connection.execute("select trace from traces where due <= ? order by due limit ?", (now, limit))
        return [trace for (trace,) in rows]

    def hasten(self, number: int | None = None) -> int:
        """Make the oldest traces due now, all of them without a number; return how many."""
        return self._connection.execute(
            "update traces set due = 0 where trace in (select trace from traces where due > 0 order by first limit ?)",
            (-1 if number is None else number,),
        ).rowcount

    def begin(self, traces: Iterable[str]) -> None:
        """Record that the waiting spans of traces are being written: what comes from now on is late."""
        for trace in traces:
            self._connection.execute("update spans set state = 1 where trace = ? and state = 0", (trace,))
            self._connection.execute("delete from traces where trace = ?", (trace,))

    def list_begun(self, limit: int) -> list[str]:
        """Return traces that are being written."""
        rows = self._connection.execute("select distinct trace from spans where state = 1 limit ?", (limit,))
        return [trace for (trace,) in rows]

    def read(self, trace: str, state: int, most: int | None = None) -> list[BufferedSpan]:
        """Return the spans of a trace in a state, in the order in which they came; those that fit into so many bytes.

        There is at least one.
        """
        rows = self._connection.execute(
            f"select {_COLUMNS} from spans where trace = ? and state = ? order by number",  # noqa: S608 (a constant)
            (trace, state),
        )
        spans: list[BufferedSpan] = []
        size = 0
        for row in map(BufferedSpan._make, rows):
            size += _OVERHEAD + len(row.payload or b"")
            if spans and most is not None and size > most:
                break
            spans.append(row)
        return spans

    def finish(self, trace: str, spans: Iterable[str], records: Mapping[str, str], person: tuple[str, str]) -> None:
        """Record in which records some spans of a trace are, and whose trace it is; those in none are forgotten."""
        self._connection.executemany(
            "update spans set state = 2, record = ?, payload = null, session = iif(session = '', ?, session), "
            "user = iif(user = '', ?, user) where trace = ? and span = ? and state = 1",
            [(record, *person, trace, span) for span, record in records.items()],
        )
        self._connection.executemany(
            "delete from spans where trace = ? and span = ? and state = 1", [(trace, span) for span in spans]
        )

    def trim(self, keep: int) -> None:
        """Forget the oldest spans that were written, but for so many."""
        self._connection.execute(
            "delete from spans where state = 2 and number <= (select max(number) from spans) - ?", (keep,)
        )

    def count(self, counts: Mapping[str, int]) -> None:
        """Add to counts by name."""
        self._connection.executemany(
            "insert into counts values (?, ?) on conflict (name) do update set count = count + excluded.count",
            list(counts.items()),
        )

    def counts(self) -> dict[str, int]:
        """Return what was counted, by name."""
        return dict(self._connection.execute("select name, count from counts order by name").fetchall())

    def waiting(self) -> tuple[int, int]:
        """Return how many spans, and of how many traces, wait."""
        return tuple(
            self._connection.execute("select count(*), count(distinct trace) from spans where state < 2").fetchone()
        )

    def sessions(self, user: str) -> list[str]:
        """Return the sessions of a user."""
        rows = self._connection.execute("select distinct session from spans where user = ? and session != ''", (user,))
        return [session for (session,) in rows]

    def compact(self) -> bool:
        """Write all into the file, without a byte of what was deleted; return False if a reader has the old pages."""
        with explain(self.path):
            self._connection.execute(f"pragma busy_timeout = {_READERS}")
            ((busy, _, _),) = self._connection.execute("pragma wal_checkpoint(truncate)")
        return not busy

    def measure(self) -> int:
        """Return how many bytes the spans take."""
        pages, free, size = (
            self._connection.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)

    def forget(self, column: str, value: str) -> int:
        """Remove all traces of a session or a user; return how many spans those had."""
        assert column in ("session", "user")
        traces = f"select trace from spans where {column} = ?"  # noqa: S608 (checked)
        self._connection.execute(f"delete from traces where trace in ({traces})", (value,))  # noqa: S608
        return self._connection.execute(f"delete from spans where trace in ({traces})", (value,)).rowcount  # noqa: S608


def open_span_buffer(base: Path, *, write: bool = False, make: bool = True) -> SpanBuffer | None:
    """Open the buffer of a log, whose name begins with ``base``, for reading, or for writing.

    Return None if there is none, and it is only to be read, or not to be made.
    """
    path = base.with_name(f"{base.name}.spans")
    with explain(path):
        if not (write and make) and not path.is_file():
            return None
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            make_own(path, 0o600)
        address = f"{path.absolute().as_uri()}?mode={'rwc' if write else 'ro'}"
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path, write)
        except BaseException:
            connection.close()
            raise
    return SpanBuffer(path, connection)


def _prepare(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    if write:
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = normal")  # as the journal: it survives the process at once
        connection.execute("pragma secure_delete = on")
    ((version,),) = connection.execute("pragma user_version")
    if version > _VERSION:
        problem = f"is a buffer of version {version}, and this karat knows {_VERSION}"
        raise InputError(problem, source=str(path), hint="use the karat that wrote it, or a newer one")
    if version < _VERSION and write:
        _make(connection)


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("begin immediate")
    ((version,),) = connection.execute("pragma user_version")
    if version < _VERSION:  # nobody was faster
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"pragma user_version = {_VERSION}")
    connection.execute("commit")
