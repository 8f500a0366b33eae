"""The journal: where a record goes while a user waits. It costs a copy into memory that the kernel keeps.

A process has a segment of its own. A record is accepted once it is in the map: it survives the death of the process,
and after the next sync also the loss of power.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import socket
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from pathlib import Path

from karat.online._segment import HEADER, LARGEST, SUFFIX, Segment, checksum

SEGMENT_BYTES = 4 << 20
SYNC_SECONDS = 1.0
_RETRY = 1.0  # seconds between two attempts to make a segment, so that a full disk does not slow the host
_logger = logging.getLogger("karat.online")
_open: weakref.WeakSet[Journal] = weakref.WeakSet()
_held: list[Journal] = []
"""The journals that wait for a fork to be over."""


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
        self._folder, self._bytes, self._sync = folder, max(segment_bytes, 2 * HEADER), sync
        self._largest = min(LARGEST, self._bytes - HEADER - 64)
        self.dropped: dict[str, int] = {}
        """How many records were dropped in this process, by reason."""
        self._closed = False
        self._begin()
        _open.add(self)

    def _begin(self) -> None:
        """Start with nothing: in a new journal, and in the child of a fork."""
        self._lock, self._spare_lock = threading.RLock(), threading.RLock()
        self._pid, self._number, self._start = os.getpid(), 0, time.time_ns()
        self._segment: Segment | None = None
        self._spare: Segment | None = None
        self._pending: dict[str, int] = {}
        self._late: deque[bytes] = deque()
        self._busy, self._retry_at = False, 0.0
        self._wake, self._thread = threading.Event(), None

    _thread: threading.Thread | None

    def append(self, payload: bytes) -> bool:
        """Write a record; return whether it was accepted. If not it was counted. Nothing is ever raised."""
        try:
            if self._pid != os.getpid():  # a fork that Python was not told of
                self.leave()
            crc = checksum(payload)
            with self._lock:
                if self._busy:  # a handler of a signal, or a finalizer, in the middle of another record
                    self._late.append(payload)
                    return True
                self._busy = True
                try:
                    return self._write(payload, crc)
                finally:
                    self._finish()
        except Exception as error:
            self.drop("other", error)
            return False

    def _finish(self) -> None:
        """Write what came while a record was written."""
        try:
            while self._late:
                self._write(self._late[0], checksum(self._late[0]))
                self._late.popleft()  # last: written twice is harmless, as a record has an id
        finally:
            self._busy = False

    def _write(self, payload: bytes, crc: int) -> bool:
        if self._closed:
            self.drop("closed")
            return False
        if len(payload) > self._largest:
            self.drop("too_large")
            return False
        segment = self._segment
        if segment is None or not segment.has_room(len(payload)):
            segment = self._rotate()
            if segment is None:
                return False
        segment.put(payload, crc)
        return True

    def drop(self, reason: str, error: Exception | None = None) -> None:
        """Count a record that is not written, and say so once for each reason."""
        with self._lock:
            first = reason not in self.dropped
            for counts in (self.dropped, self._pending):
                counts[reason] = counts.get(reason, 0) + 1
            if self._segment is not None and not self._closed:
                self._segment.set_counts(self._pending)
        if first:
            _logger.warning("records of the query log are dropped (%s): %s", reason, error or "see karat online health")

    def _rotate(self) -> Segment | None:
        """Go on in a new segment. Return None, and count the record, if there cannot be one now."""
        now = time.monotonic()
        error: Exception | None = None
        with self._spare_lock:
            segment: Segment | None = self._spare
            self._spare = None
            if segment is None and now >= self._retry_at:
                try:
                    segment = self._make()
                except (OSError, ValueError, ImportError) as problem:  # no room, no folder, no right, no locks
                    error, self._retry_at = problem, now + _RETRY
        if segment is None:
            self.drop("disk", error)
            return None
        before, self._segment = self._segment, segment
        if before is not None:
            before.close()
            self._pending = {}
        segment.set_counts(self._pending)
        if self._thread is None:
            self._thread = threading.Thread(target=_keep, args=(weakref.ref(self), self._wake), daemon=True)
            self._thread.name = "karat-journal"
            with suppress(RuntimeError):  # no threads, or the interpreter ends: syncing is left to the kernel
                self._thread.start()
        return segment

    def _make(self) -> Segment:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        host = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:32]
        self._number += 1
        return Segment(self._folder / f"{host}-{self._pid}-{self._start}-{self._number:06}{SUFFIX}", self._bytes)

    def keep(self) -> None:
        """Sync what was written, and have the next segment ready before it is needed."""
        with self._lock:
            segment = self._segment
            descriptor = None if segment is None else os.dup(segment.descriptor)
            wants = segment is not None and segment.end > segment.last // 2 and self._spare is None
        if descriptor is not None:
            try:
                getattr(os, "fdatasync", os.fsync)(descriptor)  # mmap.flush() would hold the interpreter lock
            finally:
                os.close(descriptor)
        if wants:
            with self._spare_lock:
                self._spare = self._make()

    @property
    def interval(self) -> float:
        """Seconds between two syncs."""
        return self._sync

    def close(self) -> None:
        """Close the journal; what comes later is dropped and counted."""
        with self._lock:
            self._finish()
            self._closed = True
            self._wake.set()
            with self._spare_lock:
                spare, self._spare = self._spare, None
            segment, self._segment = self._segment, None
        for open_segment in (segment, spare):
            if open_segment is not None:
                with suppress(OSError, ValueError):
                    open_segment.sync()
                    open_segment.close()
        _open.discard(self)

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
        self.dropped = {}
        self._begin()


def _keep(reference: weakref.ref[Journal], wake: threading.Event) -> None:
    """Sync the journal in the background, until it is closed or nobody has it any more."""
    while (journal := reference()) is not None:
        interval = journal.interval
        with suppress(OSError, ValueError):
            journal.keep()
        del journal
        if wake.wait(interval):
            return


def _hold() -> None:
    journals = sorted(_open, key=id)  # the same order in all threads
    for journal in journals:
        journal.hold()
    _held.extend(journals)


def _release() -> None:
    while _held:
        _held.pop().release()


def _leave() -> None:
    while _held:
        _held.pop().leave()


def _close() -> None:
    for journal in list(_open):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_leave)
atexit.register(_close)
