"""From the journal into the store: every accepted record exactly once, whoever is killed, and whenever.

Rows and the position that a segment was read to are committed together. A segment goes when it was read to its end and
its writer no longer holds its lock. What cannot be read is kept aside, and told.
"""

from __future__ import annotations

import glob
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from karat.online._drafts import GIVEN_TIME, QueryDraft, decode_draft, finish
from karat.online._emitting import Emit
from karat.online._paths import Paths, find_paths, open_lock
from karat.online._plain_rows import read_plain
from karat.online._records import LoggedQuery
from karat.online._segment import (
    HEADER,
    NEW_SUFFIX,
    SUFFIX,
    Broken,
    Frame,
    find_frame,
    is_erased,
    lock,
    read_frames,
    read_header,
    strip_zeros,
)
from karat.online._shadow_records import LoggedShadow
from karat.online._stored import event_row, query_row, shadow_row
from karat.online._types import leave_out_numbers
from karat.store import Row, Store, open_store

if TYPE_CHECKING:
    from karat.schema import OnlineIngest

_PIECE = 4 << 20  # bytes that are read, and committed, at once: more than the largest frame
KEEP_SECONDS = 86400.0
"""How long segments are kept that a server has."""
_ABANDONED = 60.0  # seconds after which a segment that is being made belongs to a dead process


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What an ingester did; see also :class:`karat.schema.OnlineIngest`."""

    records: int = 0
    """The records that are new in the store."""
    repeated: int = 0
    """Those that were in the store already."""
    damaged: int = 0
    """The parts of segments that could not be read; they are kept in the folder ``torn`` of the journal."""
    segments: int = 0
    """The segments that were read to their end and removed."""
    corrected: int = 0
    """Records whose time could not be right: they have that of the writer's clock, and the other as an attribute."""
    busy: bool = False
    """Whether another ingester is at work, and this one left it alone."""

    def document(self) -> OnlineIngest:
        """Return it as a JSON document.

        >>> Ingested(records=2).document().records
        2
        """
        from karat.schema import OnlineIngest

        return OnlineIngest(
            records=self.records,
            repeated=self.repeated,
            damaged=self.damaged,
            segments=self.segments,
            busy=self.busy,
            corrected=self.corrected,
        )

    def __add__(self, other: Ingested) -> Ingested:
        return Ingested(
            records=self.records + other.records,
            repeated=self.repeated + other.repeated,
            damaged=self.damaged + other.damaged,
            segments=self.segments + other.segments,
            corrected=self.corrected + other.corrected,
            busy=self.busy or other.busy,
        )


def ingest(
    path: str | os.PathLike[str] = "karat.db",
    *,
    wait: bool = False,
    keep: float = KEEP_SECONDS,
    emit: Emit | None = None,
) -> Ingested:
    """Bring what is in the journal into the store. ``wait`` for another ingester, or leave the work to it.

    A path at which there is neither a store nor a journal is refused. Segments that a server has are still kept for so
    many seconds: if it comes back from an older copy, what that does not have is brought there again. ``emit`` gets the
    rows of queries once they are stored.
    """
    paths = find_paths(path)
    paths.require_log()
    if not paths.journal.is_dir():
        open_store(paths.store, write=True).close()  # brings it to this version
        return Ingested()
    with lock_ingester(paths, wait=wait) as locked:
        if not locked:
            return Ingested(busy=True)
        with open_store(paths.store, write=True) as store:
            return ingest_locked(paths, store, keep, emit)


@contextmanager
def lock_ingester(paths: Paths, *, wait: bool = True) -> Iterator[bool]:
    """Let one process at a time read the journal; yield whether it is this one."""
    import fcntl

    descriptor = open_lock(paths.journal / "ingest.lock")
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def ingest_locked(paths: Paths, store: Store, keep: float = KEEP_SECONDS, emit: Emit | None = None) -> Ingested:
    """Read all segments once; the caller has the lock of the ingester."""
    positions = store.positions()
    if not paths.is_local:
        _bring_back(paths, positions)
    names = sorted(path for path in paths.journal.glob(f"*{SUFFIX}") if path.is_file())
    total = Ingested()
    for path in names:
        with suppress(FileNotFoundError):
            total += _Reading(paths, store, path, positions.get(path.name, HEADER), emit).run()
    gone = positions.keys() - {path.name for path in names} if paths.is_local else _remove_read(paths, keep)
    if gone:
        with store.transaction():
            for name in gone:
                store.remove_position(name)
    _remove_abandoned(paths)
    return total


def _bring_back(paths: Paths, positions: dict[str, int]) -> None:
    """Take back the segments that were read, and of which the server does not know: it has been restored."""
    for path in paths.read.glob(f"*{SUFFIX}"):
        if positions.get(path.name, 0) < path.stat().st_size:
            path.rename(paths.journal / path.name)


def _remove_read(paths: Paths, keep: float) -> set[str]:
    """Remove the segments that were read long ago; return their names."""
    names = set()
    for path in paths.read.glob(f"*{SUFFIX}"):
        if path.stat().st_mtime <= time.time() - keep:
            path.unlink()
            names.add(path.name)
    return names


def _remove_abandoned(paths: Paths) -> None:
    """Remove segments whose writers died while they made them: nothing is in them."""
    for path in paths.journal.glob(f"*{NEW_SUFFIX}"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _ABANDONED:
                path.unlink()


@dataclass(slots=True)
class _Batch:
    queries: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    shadows: list[Row] = field(default_factory=list)
    payloads: tuple[list[bytes], list[bytes], list[bytes]] = field(default_factory=lambda: ([], [], []))
    """What the rows of queries, of events, and of shadow runs were read from."""
    damages: list[tuple[bytes, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Queries that are stored without a field that cannot be read, by field."""
    corrected: int = 0

    def add(self, frame: Frame) -> None:
        payload = frame.payload
        if is_erased(payload):
            return
        try:
            query, event = read_plain(payload)
            if query is None and event is None:
                query, event = self._read(payload)
            if query is not None:
                self.queries.append(query)
                self.payloads[0].append(payload)
            elif event is not None:
                self.events.append(event)
                self.payloads[1].append(payload)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            self.damages.append((payload, f"not a record: {error}"))

    def _read(self, payload: bytes) -> tuple[Row | None, Row | None]:
        """Return the row of a query, or of an event, from a record of any kind; neither if it was a shadow run."""
        draft = decode_draft(payload)
        if isinstance(draft, QueryDraft):
            self.left_out.update(leave_out_numbers(draft))
        record = finish(draft)
        self.corrected += GIVEN_TIME in record.attributes
        if isinstance(record, LoggedShadow):
            self.shadows.append(shadow_row(record))
            self.payloads[2].append(payload)
            return None, None
        return (query_row(record), None) if isinstance(record, LoggedQuery) else (None, event_row(record))


class _Reading:
    """The reading of one segment from where it was left."""

    def __init__(self, paths: Paths, store: Store, path: Path, position: int, emit: Emit | None) -> None:
        self._paths, self._store, self._path, self._position, self._emit = paths, store, path, position, emit
        self._done = Ingested()

    def run(self) -> Ingested:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            final = lock(descriptor)  # first: if nobody writes any more, what is read now is all there is
            self._read(descriptor, final)
            if final:
                self._put_away()
                self._done = replace(self._done, segments=self._done.segments + 1)
        finally:
            os.close(descriptor)
        return self._done

    def _put_away(self) -> None:
        if self._paths.is_local:
            self._path.unlink()
            return
        self._paths.read.mkdir(mode=0o700, exist_ok=True)
        os.utime(self._path)  # from now on it is kept
        self._path.rename(self._paths.read / self._path.name)

    def _read(self, descriptor: int, final: bool) -> None:
        size = os.fstat(descriptor).st_size
        header = read_header(os.pread(descriptor, HEADER, 0))
        if header is not None and header.dropped:
            with self._store.transaction():
                self._store.set_drops(self._path.name, header.dropped)
        if header is None and final:
            self._keep_rest(descriptor, size, "the header is damaged")
        while header is not None and self._position < size:
            data = os.pread(descriptor, _PIECE, self._position)
            batch, end, problem = _Batch(), 0, ""
            try:
                for frame in read_frames(data):
                    batch.add(frame)
                    end = frame.end
            except Broken:
                problem = "the checksum is wrong"
            if end:
                self._commit(batch, end)
            elif not final:
                return
            else:
                self._pass_over(descriptor, size, problem or "the record is not complete")

    def _commit(self, batch: _Batch, length: int) -> None:
        ids: set[str] | None = None if self._emit is None else set()
        with ExitStack() as kept, self._store.transaction():
            new, damages = self._add(batch, ids)
            file = kept.enter_context(self._keep([data for data, _ in damages]))
            for data, reason in damages:
                self._store.add_damage(self._path.name, file, len(data), reason, time.time())
            # Not the name of the segment: of that, the counts of the host's header are set, again and again.
            self._store.add_drops(f"{self._path.name} as read", batch.left_out)
            self._store.set_position(self._path.name, self._position + length)
        self._position += length
        seen = sum(map(len, (batch.queries, batch.events, batch.shadows, batch.damages))) - len(damages)
        self._done += Ingested(records=new, repeated=seen - new, damaged=len(damages), corrected=batch.corrected)
        if self._emit is not None and ids:
            self._emit(_select_first(batch.queries, ids))

    def _add(self, batch: _Batch, ids: set[str] | None) -> tuple[int, list[tuple[bytes, str]]]:
        """Add the rows of a batch; return how many are new, and what is damaged, such as rows that cannot be stored.

        The ids of new queries go to ``ids``.
        """
        refused: tuple[dict[int, str], dict[int, str], dict[int, str]] = {}, {}, {}
        new = self._store.add_queries(batch.queries, refused[0], ids) + self._store.add_events(batch.events, refused[1])
        new += self._store.add_shadow_runs(batch.shadows, refused[2])
        damages = list(batch.damages)
        for payloads, reasons in zip(batch.payloads, refused, strict=True):
            damages += ((payloads[index], f"not a record: {reason}") for index, reason in reasons.items())
        return new, damages

    def _pass_over(self, descriptor: int, size: int, reason: str) -> None:
        """Go on after what cannot be read: at the next frame, or at the end if only zeros follow."""
        rest = os.pread(descriptor, size - self._position, self._position)
        start = find_frame(rest)
        batch = _Batch()
        if damage := strip_zeros(rest[:start]):
            batch.damages.append((damage, reason))
        self._commit(batch, start)

    def _keep_rest(self, descriptor: int, size: int, reason: str) -> None:
        batch = _Batch()
        if rest := strip_zeros(os.pread(descriptor, size, 0)):
            batch.damages.append((rest, reason))
        self._commit(batch, size - self._position)

    @contextmanager
    def _keep(self, parts: list[bytes]) -> Iterator[str]:
        """Write aside what could not be read, all of a segment in one file; yield its name.

        If the block fails nothing of it stays: the next attempt keeps it again.
        """
        if not parts:
            yield ""
            return
        folder = self._paths.torn
        folder.mkdir(mode=0o700, exist_ok=True)
        known = sorted(folder.glob(f"{glob.escape(self._path.stem)}-*.torn"))
        path = known[0] if known else folder / f"{self._path.stem}-{self._position}-{time.time_ns()}.torn"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            try:
                rest = memoryview(b"".join(parts))
                while rest:  # a write may take a part only
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
                yield path.name
            except BaseException:
                os.ftruncate(descriptor, size)
                if not size:
                    path.unlink(missing_ok=True)
                raise
        finally:
            os.close(descriptor)


def _select_first(rows: list[Row], ids: set[str]) -> list[Row]:
    """Return the first row of each of some ids, which is the one that is stored."""
    firsts = {row[0]: row for row in reversed(rows)}
    return [row for row in rows if row[0] in ids and firsts[row[0]] is row]
