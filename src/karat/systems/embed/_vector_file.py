"""A SQLite file of vectors: a killed process leaves whole transactions, and several processes can write at once."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from karat.files import make_own
from karat.systems.embed._embedder import Matrix

T = TypeVar("T")

_APPLICATION = 0x6B617261  # tells karat's files from other databases
_FORMAT = 3
_OLDER = 2
"""Had no times."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS vectors "
    "(embedder TEXT, text BLOB, vector BLOB, used INTEGER, milliseconds REAL, PRIMARY KEY (embedder, text))",
    "CREATE INDEX IF NOT EXISTS oldest ON vectors (used)",
)
_KEYS = 500  # in one query
_WAIT = 60.0  # seconds for which other processes may hold the file
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_TOLERANCE = 1e-3
"""Vectors have length 1; one that does not was damaged on the disk, and nothing else would show it."""
_DAY = 86_400
"""Seconds for which a vector counts as just used: most reads then write nothing."""
_KEPT = 0.9
"""The share of the limit that is left when vectors are deleted, so that it does not happen at every write."""

_INHERITED: list[sqlite3.Connection] = []
"""Connections of a parent process, which SQLite forbids a child to use or to close."""


class _Foreign(Exception):
    """The file is a database, but not one that karat can read."""


class VectorFile:
    """Vectors by the name of their embedder and the hash of their text, at most ``limit`` bytes of them.

    Those that were not used for the longest time are deleted first. Nothing here stops a run: a damaged file is moved
    aside, and a file that cannot be used is left alone. In both cases ``say`` gets one message.
    """

    def __init__(self, path: str | os.PathLike[str], say: Callable[[str], None], limit: float) -> None:
        self.name = os.fspath(path)
        self._path = Path(path).absolute()
        self._say = say
        self._limit = limit
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._file: os.stat_result | None = None
        self._usable = True

    def read(self, embedder: str, keys: Sequence[bytes]) -> dict[bytes, Matrix]:
        """Return the vectors that the file holds, without damaged ones."""
        return {key: vector for key, (vector, _) in self.read_timed(embedder, keys).items()}

    def read_timed(self, embedder: str, keys: Sequence[bytes]) -> dict[bytes, tuple[Matrix, float | None]]:
        """Return the vectors, each with the milliseconds that it took, if that was recorded."""
        vectors: dict[bytes, tuple[Matrix, float | None]] = {}
        for start in range(0, len(keys), _KEYS):
            for key, data, milliseconds in self._attempt(_select, embedder, keys[start : start + _KEYS]) or ():
                vector = np.frombuffer(data, "<f4")
                if abs(vector @ vector - 1) < _TOLERANCE:
                    vectors[key] = vector, milliseconds
        return vectors

    def write(self, embedder: str, vectors: Mapping[bytes, Matrix]) -> None:
        """Add vectors, all or none; then delete the ones unused for longest, if the file is over its limit."""
        self.write_timed(embedder, {key: (vector, None) for key, vector in vectors.items()})

    def write_timed(self, embedder: str, vectors: Mapping[bytes, tuple[Matrix, float | None]]) -> None:
        """Add vectors, each with the milliseconds that it took."""
        now = int(time.time())
        rows = [(embedder, key, vector.astype("<f4").tobytes(), now, taken) for key, (vector, taken) in vectors.items()]
        self._attempt(_insert, rows)
        self._attempt(_shrink, self._limit)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _attempt(self, act: Callable[..., T], *arguments: object) -> T | None:
        """Call a function with the open database, a new one if it is damaged; return None if that fails, too."""
        with self._lock:
            while self._usable:
                try:
                    return act(self._open(), *arguments)
                except (sqlite3.Error, OSError, ValueError, _Foreign) as error:
                    damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
                    if not (damaged and self._move_aside(error)):
                        self._usable = False
                        self._say(f"{self.name}: embeddings are not cached in this file: {error}")
                        self.close()
            return None

    def _open(self) -> sqlite3.Connection:
        if self._database is not None and self._process != os.getpid():
            _INHERITED.append(self._database)
            self._database = None
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # It is created now, so that stat() can tell it from a file that replaces it.
            make_own(self._path)
            self._file = self._path.stat()
            self._database = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
            self._process = os.getpid()
            weakref.finalize(self, self._database.close)
            _prepare(self._database)
        return self._database

    def _move_aside(self, error: Exception) -> bool:
        """Rename a damaged file, unless another process did so; return whether a new one can be tried."""
        self.close()
        try:
            if self._file is None or not os.path.samestat(self._file, self._path.stat()):
                return True
            aside = next(name for name in map(self._aside, range(1, 1000)) if not name.exists())
            self._path.rename(aside)
            for ending in ("-wal", "-shm"):  # they belong to the old file, and would damage the new one
                Path(f"{self._path}{ending}").unlink(missing_ok=True)
        except FileNotFoundError:
            return True
        except (OSError, StopIteration):
            return False
        self._say(
            f"{self.name}: the cache of embeddings was damaged ({error}); it is now {aside}, and a new one begins"
        )
        return True

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.damaged-{number}")


def _select(
    database: sqlite3.Connection, embedder: str, keys: Sequence[bytes]
) -> list[tuple[bytes, bytes, float | None]]:
    marks = ", ".join("?" * len(keys))
    query = f"SELECT text, vector, milliseconds, used FROM vectors WHERE embedder = ? AND text IN ({marks})"  # noqa: S608 (marks)
    rows = database.execute(query, (embedder, *keys)).fetchall()
    now = int(time.time())
    stale = [(now, embedder, key) for key, _, _, used in rows if abs(now - used) > _DAY]
    if stale:
        with suppress(sqlite3.Error), database:  # what was read is good, even if the disk is full
            database.execute("BEGIN IMMEDIATE")
            database.executemany("UPDATE vectors SET used = ? WHERE embedder = ? AND text = ?", stale)
    return [(key, vector, milliseconds) for key, vector, milliseconds, _ in rows]


def _insert(database: sqlite3.Connection, rows: Sequence[tuple[str, bytes, bytes, int, float | None]]) -> None:
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows)


def _shrink(database: sqlite3.Connection, limit: float) -> None:
    """Delete the vectors that were unused for longest, if all of them take more than ``limit`` bytes."""
    if _used_bytes(database) <= limit:
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        size, count = _used_bytes(database), _number(database, "SELECT count(*) FROM vectors")
        surplus = min(count, int(count * (1 - _KEPT * limit / size)) + 1) if size > limit else 0
        oldest = "SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?"
        database.execute(f"DELETE FROM vectors WHERE rowid IN ({oldest})", (surplus,))  # noqa: S608 (a constant)
    database.executescript("PRAGMA incremental_vacuum")  # execute() would free a single page


def _used_bytes(database: sqlite3.Connection) -> int:
    pages = _number(database, "PRAGMA page_count") - _number(database, "PRAGMA freelist_count")
    return pages * _number(database, "PRAGMA page_size")


def _prepare(database: sqlite3.Connection) -> None:
    """Create the tables, or check that the file is karat's."""
    if _number(database, "SELECT count(*) FROM sqlite_master"):
        marks = _number(database, "PRAGMA application_id"), _number(database, "PRAGMA user_version")
        if marks == (_APPLICATION, _OLDER):
            _add_times(database)
        elif marks != (_APPLICATION, _FORMAT):
            raise _Foreign("it is a database of another program, or of another version of karat")
    else:
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")  # so that deleting vectors makes the file smaller
        _switch_to_wal(database)
        with database:
            database.execute("BEGIN IMMEDIATE")
            for statement in _TABLES:
                database.execute(statement)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_FORMAT}")
    database.execute("PRAGMA synchronous = NORMAL")  # in WAL mode a power cut loses the last writes, never the file


def _switch_to_wal(database: sqlite3.Connection) -> None:
    """Turn on the write-ahead log. SQLite does not wait here for a process that has just opened the file, so we do."""
    end = time.monotonic() + _WAIT
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _add_times(database: sqlite3.Connection) -> None:
    """Bring a file of format 2 to today's format, unless another process has done so."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        if _number(database, "PRAGMA user_version") == _OLDER:
            database.execute("ALTER TABLE vectors ADD COLUMN milliseconds REAL")
            database.execute(f"PRAGMA user_version = {_FORMAT}")


def _number(database: sqlite3.Connection, query: str) -> int:
    return int(database.execute(query).fetchone()[0])
