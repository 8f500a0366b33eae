"""The file of an index: made, opened, and thrown away when it is damaged or of another version."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from karat.core import SystemFailed, __version__
from karat.files import make_folder, make_own

VERSION = f"6 {__version__}"
"""The index is made anew when this changes: another karat may score, decide or keep in another way."""
_BUSY = 30.0  # seconds to wait for another writer
_CACHE = 400_000  # kilobytes, of which only what changes is used
_ATTEMPTS, _PAUSE = 6, 0.05  # to open a file that is in use, and seconds between them
_TABLES = """
create table meta (key text primary key, value text not null) without rowid;
create table run (
    key integer primary key,
    id text not null unique,
    file text not null unique,
    stamp text not null,
    basis text not null,
    row text not null,
    report blob
);
create table block (
    run integer not null references run on delete cascade,
    number integer not null,
    body blob not null,
    primary key (run, number)
) without rowid;
create table series (
    run integer not null references run on delete cascade,
    number integer not null,
    body blob not null,
    primary key (run, number)
) without rowid;
create table line (
    run integer not null references run on delete cascade,
    position integer not null,
    body blob not null,
    primary key (run, position)
) without rowid;
create table query (position integer primary key, id text not null unique, body blob not null);
create table sought (position integer primary key, body text not null);
create table document (id text primary key, title text not null, beginning text not null) without rowid;
create table kept (
    kind text not null,
    key text not null,
    body blob not null,
    primary key (kind, key)
) without rowid;
"""
_TRIGRAMS = (
    "create virtual table trigrams using fts5(body, content='', columnsize=0, tokenize='trigram case_sensitive 1')"
)
"""By which queries that contain a text are found; without them all texts are looked through."""


def find_index(folder: Path) -> Path:
    """Return where the index of a project is."""
    return folder / ".karat" / "index.db"


def open_to_write(path: Path) -> sqlite3.Connection:
    """Open the file of an index, which is made anew if it is missing, damaged or of another version."""
    try:
        make_folder(path.parent)
    except OSError as error:
        raise SystemFailed(f"{path.parent}: cannot be made: {error.strerror}") from None
    try:
        try:
            return _open(path)
        except sqlite3.OperationalError:  # in use, or the disk is full: nothing is wrong with what it holds
            raise
        except sqlite3.DatabaseError:
            remove_index(path)
            return _open(path)
    except (OSError, sqlite3.DatabaseError) as error:
        raise SystemFailed(f"{path}: the index cannot be opened: {error}") from None


def remove_index(path: Path) -> None:
    """Remove the file of an index, with what SQLite keeps beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def _open(path: Path) -> sqlite3.Connection:
    make_own(path)
    connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None)
    try:
        # Not WAL, whose files beside the database must not be removed with it. Readers wait while a transaction is
        # committed, and not while it is written, which a large cache holds back.
        connection.execute("pragma journal_mode = delete")
        connection.execute(f"pragma cache_size = -{_CACHE}")
        connection.execute("pragma synchronous = off")  # a torn file is noticed, and made anew
        connection.execute("pragma foreign_keys = on")
        tables = {name for (name,) in connection.execute("select name from sqlite_master").fetchall()}
        if not tables:
            connection.executescript(f"begin; {_TABLES} commit;")
            with suppress(sqlite3.OperationalError):  # this SQLite was built without FTS5
                connection.execute(_TRIGRAMS)
            write_meta(connection, version=VERSION)
        elif "meta" not in tables:
            raise sqlite3.DatabaseError("of something else")
        if read_meta(connection).get("version") != VERSION:
            raise sqlite3.DatabaseError("another version")
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the file of an index to read it; without a file of this version, return an index of nothing."""
    for attempt in range(_ATTEMPTS):
        try:
            connection = _try_to_read(path)
        except sqlite3.OperationalError:  # another process has just removed it, or is about to finish with it
            time.sleep(_PAUSE * attempt)
            continue
        except sqlite3.DatabaseError:  # damaged: the indexer makes it anew
            break
        if connection is None:
            break
        return connection
    empty = sqlite3.connect(":memory:")
    empty.executescript(_TABLES)
    return empty


def _try_to_read(path: Path) -> sqlite3.Connection | None:
    """Return a connection that cannot change the index; None if there is no file of this version."""
    if not path.is_file() or not path.stat().st_size:
        return None
    # Not read-only: SQLite has to be able to take back what a killed process was writing.
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=_BUSY)
    try:
        connection.execute("pragma query_only = on")
        if read_meta(connection).get("version") == VERSION:
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def has_trigrams(connection: sqlite3.Connection) -> bool:
    """Return whether the index can find texts by their parts."""
    row = connection.execute("select 1 from sqlite_master where name = 'trigrams'").fetchone()
    return row is not None


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Return what the index says of itself."""
    return dict(connection.execute("select key, value from meta").fetchall())


def write_meta(connection: sqlite3.Connection, **values: str) -> None:
    """Change what the index says of itself."""
    connection.executemany("insert or replace into meta values (?, ?)", values.items())
