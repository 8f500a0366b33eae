"""Replies on disk: what a model was asked once, with the same parameters and messages, it is not asked again.

Each vote is a request of its own, so that asking again is really asking again. A reply is there once ``put`` has
returned, even if the process is killed at that moment; another process may use the same file at the same time.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import deque
from pathlib import Path
from typing import Any

from karat.chat._model import RUNGS, Chat, Completion, Model, Usage
from karat.core import InputError, SystemFailed
from karat.files import make_folder, make_own

_FORMAT = 1
_TABLE = """
create table if not exists replies (
    key text primary key, reply text not null, sent integer, received integer
) without rowid
"""
_Row = tuple[str, str, int | None, int | None]
_BUSY = 60.0  # seconds to wait for another process


class Replies:
    """The replies of models in a file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Replies(Path(folder, "replies.db")) as replies:
    ...     replies.put("a", Completion("yes", Usage(3, 1)))
    ...     replies.get("a")
    Completion(text='yes', usage=Usage(sent=3, received=1))
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self._closed = path, threading.Lock(), False
        self._unwritten: deque[_Row] = deque()
        self._broken: InputError | None = None
        try:
            make_folder(path.parent)
            make_own(path)  # refuses a link, a pipe or a device in its place
            # A statement is its own transaction: what was written is there if the process dies.
            self._connection = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
            self._prepare()
        except OSError as error:
            problem = f"cannot be used as a cache of replies: {error.strerror}"
            hint = "move away what is in its place, or let karat write there"
            raise InputError(problem, source=str(error.filename or path), hint=hint) from None
        except sqlite3.DatabaseError as error:
            raise self._refuse(error) from None

    def _prepare(self) -> None:
        (version,) = self._connection.execute("pragma user_version").fetchone()
        if version not in (0, _FORMAT):
            hint = "remove it, or use the karat that wrote it"
            raise InputError(f"has format {version}, which this karat does not know", source=str(self._path), hint=hint)
        self._connection.execute(_TABLE)
        self._connection.execute(f"pragma user_version = {_FORMAT}")

    def _refuse(self, error: sqlite3.Error) -> InputError:
        return InputError(f"cannot be used as a cache of replies: {error}", source=str(self._path), hint="remove it")

    def __enter__(self) -> Replies:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. A thread that still asks gets SystemFailed, so that it spends nothing more."""
        with self._lock:  # SQLite crashes if a connection is closed while another thread uses it
            self._closed = True
            self._connection.close()

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Any:
        """Return the first row of what a statement returns."""
        try:
            with self._lock:
                self._require_open()
                return self._connection.execute(statement, values).fetchone()
        except sqlite3.DatabaseError as error:
            raise self._refuse(error) from None

    def _write(self) -> None:
        """Write all replies that wait for it, those of other threads, too: the next to come has nothing to do."""
        if self._broken is not None:  # a thread that had handed over its reply must not believe that it is there
            raise self._broken
        waiting = []
        while self._unwritten:
            waiting.append(self._unwritten.popleft())
        if not waiting:
            return
        try:
            self._require_open()
            with self._connection:  # one transaction
                self._connection.execute("begin immediate")
                self._connection.executemany("insert or ignore into replies values (?, ?, ?, ?)", waiting)
        except sqlite3.DatabaseError as error:
            self._broken = self._refuse(error)
            raise self._broken from None

    def _require_open(self) -> None:
        if self._closed:
            raise SystemFailed("the file of replies is closed")

    def get(self, key: str) -> Completion | None:
        """Return a reply; None if it is not there."""
        row = self._execute("select reply, sent, received from replies where key = ?", (key,))
        if row is None:
            return None
        text, sent, received = row
        return Completion(text, None if sent is None or received is None else Usage(sent, received))

    def put(self, key: str, reply: Completion) -> None:
        """Keep a reply; the first one stays if two processes have asked for the same."""
        usage = reply.usage
        values = (key, reply.text, *((None, None) if usage is None else (usage.sent, usage.received)))
        self._unwritten.append(values)
        with self._lock:
            self._write()

    def open_chat(self, model: Model, *, role: str = "judge") -> Chat:
        """Return a way to ask a model which knows from an earlier run how the server is asked for JSON."""
        key = make_key(model.url, {"probe": model.model}, 0)
        known = self.get(key)
        rung = next((rung for rung in RUNGS if known is not None and known.text == rung), None)
        return Chat(model, rung, lambda rung: self.put(key, Completion(rung, None)), role=role)


def make_key(url: str, body: dict[str, Any], vote: int) -> str:
    """Return the name of a reply: a hash of all that decides about it, and the number of the vote."""
    text = json.dumps([_FORMAT, url, body, vote], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
