"""The journal: where a record goes while a user waits. It costs a copy into memory that the kernel keeps.

A process has a segment of its own. A record is accepted once it is in the map: it survives the death of the process,
and after the next sync also the loss of power.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import secrets
import socket
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from os import getpid
from pathlib import Path
from zlib import crc32

from karat.online._forks import OPEN
from karat.online._marks import mark_process
from karat.online._segment import (
    HEADER,
    LARGEST,
    LEFT_OUT,
    PIECE,
    REMOVED,
    SUFFIX,
    Segment,
    checksum,
    is_in_place,
    sync,
    sync_folder,
)

SEGMENT_BYTES, LEAST_SEGMENT, SYNC_SECONDS = 4 << 20, 2 * HEADER, 1.0
_RETRY = 1.0  # seconds between two attempts to make a segment, so that a full disk does not slow the host
_logger = logging.getLogger("karat.online")


class Journal:
    """The journal of one process in a folder; threads share it, and a fork gets one of its own.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder))
    ...     accepted = journal.append(b"record")
    ...     journal.close()
    >>> accepted, journal.dropped
    (True, {})
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES, sync: float = SYNC_SECONDS) -> None:
        self._folder, self._bytes = folder, max(segment_bytes, LEAST_SEGMENT)
        self.interval = sync  # seconds between two syncs
        self._host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:32]
        self._largest = min(LARGEST, self._bytes - HEADER - 64)
        self.dropped: dict[str, int] = {}
        """How many records were dropped in this process, by reason."""
        self._closed = False
        self._begin()
        OPEN.add(self)

    def _begin(self) -> None:
        """Start with nothing: in a new journal, and in the child of a fork."""
        self._lock, self._spare_lock = threading.RLock(), threading.RLock()
        self._pid, self._numbers, self._start = getpid(), itertools.count(1), time.time_ns()
        self._segment: Segment | None = None
        self._spare: Segment | None = None
        self._pending: dict[str, int] = {}
        self._late: deque[bytes] = deque()
        self._busy, self._rotated, self._retry_at = False, False, 0.0
        self._wake, self._thread = threading.Event(), None
        self._retired = deque[int]()  # segments that are full and perhaps not on the disk yet
        self._placed: Segment | None = None
        self._told: set[str] = set()
        self._token, self._counter = f"-{secrets.token_hex(8)}", itertools.count(1 << 32)
        self._second, self._next_second = f"{0:014x}-", 0
        self._mark = mark_process()

    _thread: threading.Thread | None

    def new_id(self, seconds: float) -> str:
        """Return a unique id of a time, in order after all before it in this process, even if the clock goes backwards.

        It has 14 digits of microseconds, of the last second that began, 8 of a number, and 16 of the process.
        """
        if not self._mark[0]:  # a fork that Python was not told of
            self.leave()
        if seconds >= self._next_second:
            self._second, self._next_second = f"{int(seconds) * 1_000_000:014x}-", int(seconds) + 1
        return self._second + hex(next(self._counter))[-8:] + self._token

    def append(self, payload: bytes) -> bool:
        """Write a record; return whether it was accepted. If not it was counted. Nothing is ever raised."""
        try:
            if not self._mark[0]:  # as in new_id
                self.leave()
            length = len(payload)
            crc = crc32(payload) if length <= PIECE else checksum(payload)
            with self._lock:
                if self._busy:  # a handler of a signal, or a finalizer, in the middle of another record
                    self._late.append(payload)
                    return True
                self._busy = True
                try:
                    segment = self._segment
                    if segment is not None and length <= self._largest and segment.put(payload, crc):
                        return True
                    return self._write(payload, crc)
                finally:
                    self._busy = False  # first: what comes from now on does not wait
                    if self._late:
                        self._write_late()
        except Exception as error:
            self.drop("other", error)
            return False

    def _write_late(self) -> None:
        """Write what came while a record was written."""
        while self._late and not self._busy:
            self._busy = True
            try:
                self._write(self._late[0], checksum(self._late[0]))
                self._late.popleft()  # last: written twice is harmless, as a record has an id
            finally:
                self._busy = False

    def _write(self, payload: bytes, crc: int) -> bool:
        """Write a record where that takes more than a copy."""
        if self._closed:
            self.drop("closed")
            return False
        if len(payload) > self._largest:
            self.drop("too_large")
            return False
        if self._segment is not None and self._put(self._segment, payload, crc):
            return True
        segment = self._rotate()
        return segment is not None and self._put(segment, payload, crc)

    def _put(self, segment: Segment, payload: bytes, crc: int) -> bool:
        """Write a record if there is room for it, whether the memory is prepared or not."""
        if segment.put(payload, crc):
            return True
        if segment.extend():
            self._wake.set()  # so that memory for what comes next is prepared
        return segment.put(payload, crc)

    def drop(self, reason: str, error: Exception | None = None, *, records: int = 1) -> None:
        """Count records that are not written, or that are written without a field, and say so once for each reason."""
        with self._lock:
            first = reason not in self.dropped
            for counts in (self.dropped, self._pending):
                counts[reason] = counts.get(reason, 0) + records
            if self._segment is None and not self._closed and reason != "disk":
                self._begin_segment()  # or nobody would see the count before a record is accepted
            elif self._segment is not None and not self._closed:
                self._segment.set_counts(self._pending)
        if first:
            what = "written without a field" if reason in LEFT_OUT else "dropped"
            why = error or "see karat online health"
            _logger.warning("records of the query log are %s (%s): %s", what, reason, why)

    def _rotate(self) -> Segment | None:
        """Go on in a new segment. Return None, and count the record, if there cannot be one now."""
        segment, error = self._begin_segment()
        if segment is None:
            self.drop("disk", error)
        return segment

    def _begin_segment(self) -> tuple[Segment | None, Exception | None]:
        """Go on in a new segment, which has the counts of what was dropped. Return it, or why there is none."""
        segment, now = self._take_spare(), time.monotonic()
        if segment is None and now < self._retry_at:
            return None, None
        try:
            segment = segment or self._make()
        except (OSError, ValueError, ImportError) as error:  # no room, no folder, no right, no locks
            self._retry_at = now + _RETRY
            return None, error
        before, self._segment = self._segment, segment
        if before is not None:
            counts, self._pending = self._pending, {}
            with suppress(OSError):  # no descriptor is free: syncing is left to the kernel
                self._retired.append(os.dup(before.descriptor))
            self._finish_segment(before, counts)
            self._rotated = True
            self._wake.set()  # for the next spare: a process that fills one segment will fill another
        segment.set_counts(self._pending)
        if self._thread is None:
            self._thread = threading.Thread(target=_keep, args=(weakref.ref(self), self._wake), daemon=True)
            self._thread.name = "karat-journal"
            with suppress(RuntimeError):  # no threads, or the interpreter ends: syncing is left to the kernel
                self._thread.start()
        return segment, None

    def _take_spare(self) -> Segment | None:
        """Return the segment that was made ahead, if there is one and nobody has removed it.

        If it is being made, there is none yet: the host does not wait for that.
        """
        if not self._spare_lock.acquire(blocking=False):
            return None
        try:
            spare, self._spare = self._spare, None
        finally:
            self._spare_lock.release()
        if spare is not None and not is_in_place(spare.path, spare.descriptor):
            spare.close(finished=False)
            return None
        return spare

    def _finish_segment(self, segment: Segment, counts: dict[str, int]) -> None:
        """Close a segment to which nothing more will come. If somebody has removed it, it is written again before."""
        if not is_in_place(segment.path, segment.descriptor):
            rescued = self._rescue(segment, counts)
            if rescued is None:
                self.drop("disk", records=segment.count())
            else:
                rescued.close()
        segment.close()

    def _rescue(self, segment: Segment, counts: dict[str, int]) -> Segment | None:
        """Write a segment that somebody has removed to a new file, while its pages are still in memory.

        Return None if there cannot be one now. It is counted because segments that were full before may be gone, too.
        """
        try:
            with self._spare_lock:
                rescued = self._make()
        except (OSError, ValueError) as error:
            self._tell_removed("cannot be written again now", segment, error)
            return None
        rescued.copy(segment)
        counts[REMOVED] = counts.get(REMOVED, 0) + 1
        rescued.set_counts(counts)
        self._tell_removed("was written again; what was full before it and not ingested is lost", segment)
        return rescued

    def _tell_removed(self, what: str, segment: Segment, error: object = "") -> None:
        if what not in self._told:
            self._told.add(what)
            _logger.warning("%s was removed under a running host, and %s %s", segment.path, what, error)

    def _make(self) -> Segment:
        """Return a new segment, with few calls of the kernel: after each, a thread waits for the interpreter lock."""
        path = self._folder / f"{self._host}-{self._pid}-{self._start}-{next(self._numbers):06}{SUFFIX}"
        with suppress(FileNotFoundError):
            return Segment(path, self._bytes)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Segment(path, self._bytes)

    def keep(self) -> None:
        """Sync what was written, and have memory ready for what comes next before it is needed."""
        with self._lock:
            segment = self._segment
            descriptor = None if segment is None else os.dup(segment.descriptor)
        if segment is not None and descriptor is not None:
            try:
                in_place = is_in_place(segment.path, descriptor)
                sync(descriptor)
            finally:
                os.close(descriptor)
            if not in_place:
                self._replace(segment)
                return
            if segment is not self._placed:  # its name has to survive, too
                sync_folder(self._folder)
                self._placed = segment
            segment.prepare(synced=True)
            if segment.end > segment.last // 2:
                self.make_spare(soon=False)

    def prepare(self) -> None:
        """Have memory ready for what comes next, because the host asks for it."""
        segment = self._segment
        if segment is not None and segment.limit == segment.last:
            with suppress(ValueError):  # it is full, and closed
                segment.prepare(synced=False)
        if self._rotated:
            self._rotated = False
            self.make_spare(soon=True)

    def sync_retired(self) -> None:
        """Sync segments that are full: what is in them is as old as the last rotation."""
        while self._retired:
            descriptor = self._retired.popleft()
            try:
                sync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(self._folder)

    def make_spare(self, *, soon: bool) -> None:
        """Make the segment that comes next, unless there is one. ``soon`` says that a busy host will fill all of it."""
        with self._spare_lock:
            if self._spare is None and not self._closed:
                spare = self._make()
                with suppress(OSError):  # it is as good without, only slower
                    spare.fill()
                    spare.prepare(synced=False, whole=soon)
                self._spare = spare

    def _replace(self, segment: Segment) -> None:
        """Go on in a new segment with the same records, because somebody has removed this one."""
        with self._lock:
            if self._segment is segment and (rescued := self._rescue(segment, self._pending)) is not None:
                self._segment = rescued
                segment.close(finished=False)

    @property
    def closed(self) -> bool:
        """Whether nothing is accepted any more."""
        return self._closed

    def close(self) -> None:
        """Close the journal; what comes later is dropped and counted."""
        with self._lock:
            self._write_late()
            self._closed = True
            self._wake.set()
            with self._spare_lock:
                spare, self._spare = self._spare, None
            segment, self._segment = self._segment, None
        with suppress(OSError, ValueError):
            self.sync_retired()
        with suppress(OSError, ValueError, ImportError):
            if segment is None and self._pending:  # nothing was accepted: the disk may have room for the count now
                segment = self._make()
                segment.set_counts(self._pending)
        with suppress(OSError, ValueError):
            if segment is not None:
                segment.sync()
                self._finish_segment(segment, self._pending)
                sync_folder(self._folder)
        with suppress(OSError, ValueError):
            if spare is not None:
                spare.close()
        OPEN.discard(self)

    def hold(self) -> None:
        """Wait until no thread writes: a fork is about to happen."""
        self._lock.acquire()
        self._spare_lock.acquire()

    def release(self) -> None:
        """Let threads write again, after a fork."""
        self._spare_lock.release()
        self._lock.release()

    def leave(self) -> None:
        """Leave the parent's segments to the parent, in the child of a fork."""
        for segment in (self._segment, self._spare):
            if segment is not None:
                with suppress(OSError, ValueError, BufferError):
                    segment.close(finished=False)
        for descriptor in self._retired:
            with suppress(OSError):
                os.close(descriptor)
        self.dropped = {}
        self._begin()


def _keep(reference: weakref.ref[Journal], wake: threading.Event) -> None:
    """Keep the journal in the background, until it is closed or nobody has it any more."""
    due = 0.0
    while (journal := reference()) is not None and not journal.closed:
        with suppress(OSError, ValueError):
            if time.monotonic() >= due:
                due = time.monotonic() + journal.interval
                journal.keep()
            else:
                journal.prepare()
        with suppress(OSError, ValueError):
            journal.sync_retired()
        del journal
        wake.wait(max(0.0, due - time.monotonic()))
        wake.clear()
