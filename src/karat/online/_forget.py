"""Forgetting a session or a user: afterwards no byte of what they asked is in any file of the log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError, SystemFailed, UsageError
from karat.online._archive import Archive
from karat.online._drafts import QueryDraft, decode_draft, replace_halves
from karat.online._hit_rows import to_text
from karat.online._ingest import ingest_locked, lock_ingester
from karat.online._paths import Paths, find_paths
from karat.online._privacy import KEY_VARIABLE, count_other_keys, hash_id, parse_key, read_key
from karat.online._received import forget_received, list_received_sessions
from karat.online._segment import HEADER, SUFFIX, Broken, erase, is_erased, read_frames
from karat.schema import OnlineForgetting
from karat.store import Store, open_store


def forget(
    path: str | os.PathLike[str] = "karat.db",
    *,
    session: str | None = None,
    user: str | None = None,
    key: str | None = None,
) -> OnlineForgetting:
    """Remove all records of a session, or of a user: from the store, its free pages, the journal and the archive.

    Spans that were received and wait go, too.

    With a user go all their sessions. The ids are those that the host gave; they are hashed with ``key``, or with the
    key of the log. What a golden set took over is not touched: it is the user's file.
    """
    from karat.online.trials import forget_in_trials  # it imports this package

    if (session is None) == (user is None):
        raise UsageError("say whom to forget: a session or a user, and one at a time")
    column, name = ("session", str(session)) if session is not None else ("user", str(user))
    if not name:
        raise UsageError(f"the id of the {column} is empty; say whom to forget")
    paths = find_paths(path)
    if not paths.has_store() and not paths.journal.is_dir():
        raise InputError("no such log", source=str(path))
    paths.make_journal()
    known = parse_key(key) if key is not None else read_key(paths.key)
    fits, others = count_other_keys(paths.key_checks, known)
    with lock_ingester(paths), open_store(paths.store, write=True) as store:
        archive = Archive(paths.archive)
        ingest_locked(paths, store)
        # The id itself, too, as it can be written: a log may keep ids.
        values = {replace_halves(name)} | (set() if known is None else {hash_id(known, column, name)})
        traces = _find_traces(paths, archive, store, column, values)
        with store.transaction():
            rows = sum(store.forget(name, value) for name, value in traces.ids)
            rows += sum(store.forget_query(query) for query in traces.queries)
            forget_in_trials(store, (value for name, value in traces.ids if name == "session"))
        frames, unread = _erase_all(paths, traces)
        received, is_gone = forget_received(paths.base, traces.ids)
        frames += received
        archived = archive.forget(traces.covers_row)
        if not fits and not rows and not frames and not archived:
            raise _explain_key(path, known)
        with store.transaction():
            store.forget_damages()
        damages, kept = _remove_damages(paths)
        complete = _compact(store) and is_gone
    return OnlineForgetting(
        rows=rows,
        frames=frames,
        archived=archived,
        damages=damages,
        complete=complete,
        unread=(*unread, *sorted(archive.unread), *kept),
        other_keys=others,
    )


def _compact(store: Store) -> bool:
    """Rewrite the store; return whether no old page is left. They stay on a full disk; what was removed is removed."""
    try:
        return store.compact()
    except SystemFailed:
        return False


def _explain_key(path: str | os.PathLike[str], known: bytes | None) -> InputError:
    problem = "there is no key" if known is None else "the ids of this log were hashed with another key"
    hint = f"set {KEY_VARIABLE} to the key of the host, or put the host's key file beside the store"
    return InputError(f"nothing was removed: {problem}", source=str(path), hint=hint)


def _erase_all(paths: Paths, traces: _Traces) -> tuple[int, list[str]]:
    """Overwrite the records of somebody in all segments; return how many, and what could not be looked through."""
    count, unread = 0, list[str]()
    for segment in sorted((*paths.journal.glob(f"*{SUFFIX}"), *paths.read.glob(f"*{SUFFIX}"))):
        try:
            count += _erase(segment, traces)
        except OSError:
            unread.append(segment.name)
    return count, unread


def _remove_damages(paths: Paths) -> tuple[int, list[str]]:
    """Remove what could not be read: nobody knows whose it is. Return how many files, and what could not be removed."""
    count, kept = 0, list[str]()
    for file in sorted(paths.torn.glob("*")):
        try:
            file.unlink()
            count += 1
        except OSError:  # such as a folder, which is not karat's
            kept.append(file.name)
    return count, kept


@dataclass(frozen=True, slots=True)
class _Traces:
    """How the records of somebody are recognised."""

    ids: frozenset[tuple[str, str]]
    """Columns and what is in them: sessions and users."""
    queries: frozenset[str]
    """The ids of their queries that are not in the store any more, which feedback may name."""

    def covers_row(self, row: Mapping[str, Any]) -> bool:
        """Return whether a query of the archive is theirs."""
        return any(row.get(column) == value for column, value in self.ids)

    def covers_payload(self, payload: bytes) -> bool:
        """Return whether a record of the journal is theirs; one that cannot be read may be."""
        try:
            draft = decode_draft(payload)
        except ValueError:
            return True
        named = draft.id if isinstance(draft, QueryDraft) else to_text(draft.query)
        return named in self.queries or any(to_text(getattr(draft, column)) == value for column, value in self.ids)


def _find_traces(paths: Paths, archive: Archive, store: Store, column: str, values: set[str]) -> _Traces:
    """Return by what all records of somebody are recognised: of a user, these are all their sessions."""
    ids = {(column, value) for value in values}
    archived = list(archive.rows())
    if column == "user":
        sessions = {session for value in values for session in store.sessions(value)}
        sessions |= list_received_sessions(paths.base, values)
        sessions |= {str(row["session"]) for row in archived if row.get("user") in values and row.get("session")}
        ids |= {("session", session) for session in sessions}
    queries = {str(row.get("id")) for row in archived if any(row.get(name) == value for name, value in ids)}
    queries |= {query for name, value in ids for query in store.query_ids(name, value)}
    return _Traces(frozenset(ids), frozenset(queries))


def _erase(path: Path, traces: _Traces) -> int:
    """Overwrite the records of somebody in a segment that may still be written to; return how many."""
    count = 0
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            data = os.pread(descriptor, os.fstat(descriptor).st_size, HEADER)
            with suppress(Broken):  # as far as it was ingested, it is not
                for frame in read_frames(data):
                    if not is_erased(frame.payload) and traces.covers_payload(frame.payload):
                        erase(descriptor, HEADER + frame.start, len(frame.payload))
                        count += 1
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return count
