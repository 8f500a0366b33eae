"""Full-text search of SQLite (FTS5), which comes with Python."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from karat.core import InputError, UsageError
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings
from karat.systems.adapters._store import Match, Store

_WORD = re.compile(r"\w+")


class SqliteFts(Store):
    """A table of SQLite's FTS5, ranked by its BM25.

    Questions are taken apart into words, of which any may match.

    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE VIRTUAL TABLE pages USING fts5(name, body)")
    >>> _ = database.execute("INSERT INTO pages VALUES ('pool', 'The pool opens at six.')")
    >>> pages = SqliteFts(database, collection="pages", id="name")
    >>> [hit.id for hit in pages.retrieve("When does the pool open?", 5)]
    ['pool']
    """

    name = "sqlite"

    def __init__(self, database: sqlite3.Connection, *, tokenize: str = "", **options: Unpack[StoreOptions]) -> None:
        """``tokenize`` is that of a new table, such as ``porter unicode61``; empty for SQLite's own."""
        super().__init__(embeds=False, **options)
        self._database, self._tokenize = database, tokenize

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "tokenize": self._tokenize, "version": sqlite3.sqlite_version}

    def create(self, size: int) -> None:  # noqa: ARG002 (texts have no vectors)
        tokenize = f", tokenize={_quote(self._tokenize)}" if self._tokenize else ""
        try:
            self._database.execute(f"CREATE VIRTUAL TABLE {_quote(self.collection)} USING fts5(body{tokenize})")
        except sqlite3.OperationalError as error:
            raise UsageError(f"SQLite cannot make the table: {error}; correct tokenize") from None

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:  # noqa: ARG002 (texts have no vectors)
        rows = zip(numbers, texts, strict=True)
        with self._database:
            self._database.executemany(f"INSERT INTO {_quote(self.collection)}(rowid, body) VALUES (?, ?)", rows)  # noqa: S608 (quoted)

    def search(self, question: str, k: int) -> Iterable[Match]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(question))
        if not words:
            return
        # rank is BM25, negated, so that the best is the lowest.
        table = _quote(self.collection)
        cursor = self._database.execute(
            f"SELECT rowid, -rank, * FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid LIMIT ?",  # noqa: S608 (quoted)
            (words, k),
        )
        names = [column[0] for column in cursor.description][2:]
        for number, score, *values in cursor:
            yield Match(str(number), score, dict(zip(names, values, strict=True)))

    def list_collections(self) -> Iterable[str]:
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
        return [name for (name,) in self._database.execute(tables)]

    def drop(self) -> None:
        self._database.execute(f"DROP TABLE {_quote(self.collection)}")


@dataclass(frozen=True, kw_only=True)
class SqliteSettings(StoreSettings):
    """The table ``[system]`` with ``kind = "sqlite"``."""

    path: str = ""
    """The file of the database; needed unless ``ingest`` is set, which uses the memory."""
    tokenize: str = ""

    def connect(self, around: Surroundings) -> SqliteFts:
        """Open the database, for reading only."""
        database = self._open(around)
        options = self.options(around, self.path, embeds=False)
        return SqliteFts(database, tokenize=self.tokenize, **options).closing(database.close)

    def _open(self, around: Surroundings) -> sqlite3.Connection:
        # Questions are asked in threads, and SQLite lets them take turns.
        if self.ingest:
            if self.path:
                raise UsageError("[system] ingest = true fills a database in memory; remove path")
            return sqlite3.connect(":memory:", check_same_thread=False)
        path = around.folder / self.path
        if not path.is_file():
            raise InputError("no such database", source=str(path), hint="correct path in [system]")
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        # Views and triggers of a stranger's file may call no function that does more than compute.
        database.execute("PRAGMA trusted_schema = OFF")
        try:
            database.execute("SELECT name FROM sqlite_schema LIMIT 1").fetchall()
        except sqlite3.DatabaseError as error:
            database.close()
            raise InputError(f"cannot be read: {error}", source=str(path), hint="correct path in [system]") from None
        return database


def _quote(name: str) -> str:
    """Return a name or a text as SQL writes it.

    >>> _quote('my "own" table')
    '"my ""own"" table"'
    """
    return '"' + name.replace('"', '""') + '"'
