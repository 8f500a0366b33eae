"""A file of vectors that survives: SQLite, so that a killed process leaves whole transactions, and two can write."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from karat.systems.embed._embedder import Matrix

T = TypeVar("T")

_APPLICATION = 0x6B617261  # tells karat's files from other people's databases
_FORMAT = 1
_TABLE = "CREATE TABLE IF NOT EXISTS vectors (embedder TEXT, text BLOB, vector BLOB, PRIMARY KEY (embedder, text))"
_ASKED = 500  # keys in one question
_WAIT = 60.0  # seconds for which other processes may write
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_TOLERANCE = 1e-3
"""Vectors have length 1. One that has not was damaged on the disk, where nothing else would tell."""

_INHERITED: list[sqlite3.Connection] = []
"""Connections of a parent process: SQLite forbids to use them, and to close them."""


class _Foreign(Exception):
    """A database, but not one that karat can read."""


class Store:
    """Vectors by the name of their embedder and the hash of their text.

    Nothing in here stops a run: a damaged file is moved aside, and one that cannot be used is left alone. Either way
    ``say`` gets one message.
    """

    def __init__(self, path: str | os.PathLike[str], say: Callable[[str], None]) -> None:
        self.name = os.fspath(path)
        self._path = Path(path).absolute()
        self._say = say
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._file: os.stat_result | None = None
        self._usable = True

    def read(self, embedder: str, keys: Sequence[bytes]) -> dict[bytes, Matrix]:
        """Give the vectors that are there, and whole."""
        found: dict[bytes, Matrix] = {}
        for start in range(0, len(keys), _ASKED):
            part = keys[start : start + _ASKED]
            marks = ", ".join("?" * len(part))
            question = f"SELECT text, vector FROM vectors WHERE embedder = ? AND text IN ({marks})"  # noqa: S608 (marks)
            rows = self._tried(
                lambda database, *asked: database.execute(*asked).fetchall(), question, (embedder, *part)
            )
            vectors = ((key, np.frombuffer(data, "<f4")) for key, data in rows or ())
            found.update((key, vector) for key, vector in vectors if abs(vector @ vector - 1) < _TOLERANCE)
        return found

    def write(self, embedder: str, vectors: Mapping[bytes, Matrix]) -> None:
        """Add vectors, all or none."""
        self._tried(_insert, [(embedder, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()])

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None

    def _tried(self, act: Callable[..., T], *arguments: object) -> T | None:
        """Do something with the file, or with a new one if it is damaged; nothing when that fails too."""
        with self._lock:
            while self._usable:
                try:
                    return act(self._opened(), *arguments)
                except (sqlite3.Error, OSError, ValueError, _Foreign) as error:
                    damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE
                    if not (damaged and self._moved_aside(error)):
                        self._usable = False
                        self._say(f"{self.name}: embeddings are not cached in this file: {error}")
                        self.close()
            return None

    def _opened(self) -> sqlite3.Connection:
        if self._database is not None and self._process != os.getpid():
            _INHERITED.append(self._database)
            self._database = None
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.open("ab").close()  # so that it is there, and can be told from one that takes its place
            self._file = self._path.stat()
            self._database = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
            self._process = os.getpid()
            weakref.finalize(self, self._database.close)
            _prepare(self._database)
        return self._database

    def _moved_aside(self, error: Exception) -> bool:
        """Rename a damaged file, unless another process did; say whether a new one can be tried."""
        self.close()
        try:
            if self._file is None or not os.path.samestat(self._file, self._path.stat()):
                return True
            aside = next(name for name in map(self._aside, range(1, 1000)) if not name.exists())
            self._path.rename(aside)
            for ending in ("-wal", "-shm"):  # they belong to the old file, and would spoil the new one
                Path(f"{self._path}{ending}").unlink(missing_ok=True)
        except FileNotFoundError:
            return True
        except (OSError, StopIteration):
            return False
        self._say(
            f"{self.name}: the cache of embeddings was damaged ({error}), and is now {aside}; a new one was begun"
        )
        return True

    def _aside(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.damaged-{number}")


def _insert(database: sqlite3.Connection, rows: Sequence[tuple[str, bytes, bytes]]) -> None:
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)


def _prepare(database: sqlite3.Connection) -> None:
    """Make the table, or check that it is karat's."""

    def number(question: str) -> int:
        return int(database.execute(question).fetchone()[0])

    if number("SELECT count(*) FROM sqlite_master"):
        if (number("PRAGMA application_id"), number("PRAGMA user_version")) != (_APPLICATION, _FORMAT):
            raise _Foreign("it is a database of another program, or of another version of karat")
    else:
        database.execute("PRAGMA journal_mode = WAL")
        with database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(_TABLE)
            database.execute(f"PRAGMA application_id = {_APPLICATION}")
            database.execute(f"PRAGMA user_version = {_FORMAT}")
    database.execute("PRAGMA synchronous = NORMAL")  # in WAL mode a power cut loses the last writes, never the file
