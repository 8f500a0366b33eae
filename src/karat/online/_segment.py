"""A segment of the journal: a preallocated file with a header and one frame after the other.

::

    header   4096 bytes: magic, whether the writer has closed it, how many records were dropped, by reason
    frame    length of the payload (4 bytes, written last), CRC-32 of the payload (4 bytes), payload, zeros up to a
             multiple of 8 bytes
    end      zeros: a length of 0 is where the next frame will be

All numbers are little-endian. The writer holds a lock on the file as long as it lives, so that a reader knows whether
more may come. What the kernel has of a memory map survives the process: a frame is complete, or its length is 0.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from mmap import PAGESIZE, mmap
from pathlib import Path
from time import perf_counter, sleep
from typing import NamedTuple

MAGIC = b"KARATJ01"
HEADER = 4096
SUFFIX = ".seg"
LARGEST = 1 << 20
"""The most bytes of a payload."""
NEW_SUFFIX = ".new"
"""Of a segment that is being made: it has no frames, and its writer may not have its lock yet."""
REMOVED = "removed"
OUTCOME = "outcome"
"""Events of the kind ``task_outcome`` whose value is not from 0 to 1."""
FIELDS = ("time", "latency", "quality", "count", "flags", "value", "rank", "document", "query")
"""Fields that have to be what they should be: a record with anything else there is dropped."""
LEFT_OUT = ("hits", "channels", "stages", "weights", "citations")
"""Fields that a record is written without if they cannot be recorded."""
EVENT = "event"
"""Feedback without a word for what somebody did."""
REASONS = ("encode", "too_large", "disk", "closed", "other", REMOVED, OUTCOME, *FIELDS, *LEFT_OUT, EVENT)
"""What the header's counters count, in their order, to which new ones are only ever appended.

These are records that were dropped, by reason or field, segments that somebody removed, and fields that were left out.
"""

_LENGTH = struct.Struct("<I")
_unpack_length = _LENGTH.unpack_from
_FRAME = struct.Struct("<II")  # length and checksum
_STATE = struct.Struct("<Q")
_COUNTS = struct.Struct(f"<{len(REASONS)}Q")
_STATE_AT, _COUNTS_AT = 8, 64
_pack_head_into = struct.Struct("<Q").pack_into
"""Writes the checksum and the length of a frame: one aligned word, which a reader sees whole or not at all."""
_ZEROS = bytes(1 << 20)  # written at once, they are few large pieces of memory, which are mapped at once too
_POPULATE_WRITE = 23  # madvise(2); the module mmap does not name it
_LEAST_AHEAD, _AT_ONCE = 1 << 16, 1 << 17  # bytes
_GROWTH = 4
_LONGEST_HOLD = 1e-4  # seconds
PIECE = 4096  # zlib lets go of the interpreter lock above 5 KB, and waits for it beside a busy thread


def checksum(payload: bytes) -> int:
    """Return the CRC-32 of a payload without ever releasing the interpreter lock.

    >>> checksum(bytes(10_000)) == zlib.crc32(bytes(10_000))
    True
    """
    if len(payload) <= PIECE:
        return zlib.crc32(payload)
    crc = 0
    for start in range(0, len(payload), PIECE):
        crc = zlib.crc32(payload[start : start + PIECE], crc)
    return crc


def frame_size(length: int) -> int:
    """Return how many bytes a frame takes.

    >>> frame_size(8), frame_size(9)
    (16, 24)
    """
    return (length + 15) & ~7


class Segment:
    """A segment that this process writes; the caller holds a lock."""

    __slots__ = ("_ahead", "_prepared_at", "_torn", "descriptor", "end", "last", "limit", "map", "path")

    def __init__(self, path: Path, size: int) -> None:
        """Make the file: allocated, so that a full disk fails here and not as a signal when a page is written."""
        self.path = path
        new = path.with_suffix(NEW_SUFFIX)
        self.descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            lock(self.descriptor)
            _allocate(self.descriptor, size)
            self.map = mmap(self.descriptor, size)
            self.map[: len(MAGIC)] = MAGIC
            new.rename(path)  # from now on readers see it, and it is locked
        except BaseException:
            os.close(self.descriptor)
            new.unlink(missing_ok=True)
            raise
        self.end = self.limit = self._prepared_at = HEADER
        self.last = size - _LENGTH.size
        self._ahead = _LEAST_AHEAD
        self._torn = False  # whether a frame is being written

    def put(self, payload: bytes, crc: int) -> bool:
        """Write a frame; return False at the limit. If a signal's handler raises, it is there or it is not."""
        end, length, map_ = self.end, len(payload), self.map
        start = end + 8
        after = end + ((length + 15) & ~7)  # frame_size, without a call
        if after > self.limit:
            return False
        if self._torn:  # a handler raised before the last frame was counted, complete or not
            self._pass_over()
            return self.put(payload, crc)
        self._torn = True
        map_[start : start + length] = payload
        _pack_head_into(map_, end, crc << 32 | length)  # at once, and last: from now on readers see it
        self.end = after
        self._torn = False
        return True

    def _pass_over(self) -> None:
        """Go on after a frame that is complete, or remove what there is of one that is not."""
        length = _unpack_length(self.map, self.end)[0]
        if length:
            self.end += frame_size(length)
        else:
            left = len(strip_zeros(self.map[self.end :]))
            self.map[self.end : self.end + left] = bytes(left)
        self._torn = False

    def fill(self) -> None:
        """Write zeros into a segment that nobody uses yet, so that memory and the disk have its pages.

        One call: after each, a thread waits for the interpreter lock, and the host waits for that thread.
        """
        rounds, rest = divmod(self.last - HEADER, len(_ZEROS))
        os.pwritev(self.descriptor, [_ZEROS] * rounds + [_ZEROS[:rest]], HEADER)
        self.sync()

    def extend(self) -> bool:
        """Go on beyond the memory that is prepared; return False if the segment is full."""
        extended, self.limit = self.limit < self.last, self.last
        return extended

    def prepare(self, *, synced: bool, whole: bool = False) -> None:
        """Let the kernel map pages that are written next: each of them would stop the host for microseconds.

        A sync takes pages away again: then so many are prepared as were written since the last one, and once more.
        Without a record since then nothing is done: such pages are written to the disk, even if empty. If there was no
        sync, half of the pages that were prepared are written, and more of them are needed: ``whole`` says that all
        will be.
        """
        if synced and self.end == self._prepared_at:
            return
        wanted = 2 * (self.end - self._prepared_at) if synced else _GROWTH * self._ahead
        self._ahead = len(self.map) if whole else max(wanted, _LEAST_AHEAD)
        if synced:
            self._prepared_at = self.end
        start = self.end & -PAGESIZE
        stop = min(start + self._ahead, len(self.map))
        if sys.platform == "linux":
            with suppress(OSError):  # a kernel before 5.14
                self._populate(start, stop)
        self.limit = self.last if stop == len(self.map) else (start + stop) // 2

    def _populate(self, start: int, stop: int) -> None:
        """Map pages, and let others have the interpreter lock in between if that takes long."""
        began = perf_counter()
        for piece in range(start, stop, _AT_ONCE):
            self.map.madvise(_POPULATE_WRITE, piece, min(_AT_ONCE, stop - piece))
            if perf_counter() - began > _LONGEST_HOLD:
                sleep(0)
                began = perf_counter()

    def set_counts(self, counts: dict[str, int]) -> None:
        """Write how many records were dropped while this segment was the journal's end."""
        _COUNTS.pack_into(self.map, _COUNTS_AT, *(counts.get(reason, 0) for reason in REASONS))

    def copy(self, other: Segment) -> None:
        """Take over the frames of another segment of the same size."""
        self.map[HEADER:] = other.map[HEADER:]
        self.end, self._torn = other.end, other._torn

    def count(self) -> int:
        """Return how many records it holds."""
        return sum(not is_erased(frame.payload) for frame in read_frames(self.map[HEADER:]))

    def sync(self) -> None:
        """Wait until the disk has what was written so far."""
        sync(self.descriptor)

    def close(self, *, finished: bool = True) -> None:
        """Close the file. ``finished`` says to readers that nothing more will come."""
        if finished:
            _STATE.pack_into(self.map, _STATE_AT, 1)
            _unlock(self.descriptor)  # a thread that syncs may still hold a duplicate, and the lock with it
        self.map.close()
        os.close(self.descriptor)


def sync(descriptor: int) -> None:
    """Wait until the disk has a file as it is now; mmap.flush() would hold the interpreter lock meanwhile."""
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names of the files in a folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Lock a segment; return whether nobody else had done so. The lock goes when its process dies."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(descriptor: int) -> None:
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_in_place(path: Path, descriptor: int) -> bool:
    """Return whether an open file is still where readers look for it: nobody has removed it or moved it away."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:  # nothing can be said
        return True


def _allocate(descriptor: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    zeros = bytes(1 << 16)  # macOS
    for start in range(0, size, len(zeros)):
        os.pwrite(descriptor, zeros[: size - start], start)


class SegmentHeader(NamedTuple):
    """What the header of a segment says."""

    closed: bool
    dropped: dict[str, int]


def read_header(data: bytes) -> SegmentHeader | None:
    """Return what a header says, or None if it is none."""
    if len(data) < HEADER or not data.startswith(MAGIC):
        return None
    counts = _COUNTS.unpack_from(data, _COUNTS_AT)
    closed = _STATE.unpack_from(data, _STATE_AT)[0] == 1
    return SegmentHeader(closed, {reason: count for reason, count in zip(REASONS, counts, strict=True) if count})


class Frame(NamedTuple):
    """A payload, with the places in the data where its frame begins and ends."""

    payload: bytes
    start: int
    end: int


class Broken(Exception):
    """A frame whose length or checksum is wrong."""


def read_frames(data: bytes) -> Iterator[Frame]:
    """Yield the frames at the beginning of some bytes, up to the end of the segment, or of the bytes.

    Raise :class:`Broken` at a frame whose checksum is wrong. A frame of which the bytes have only a part is not
    yielded: the caller reads more, and finds out then.
    """
    position, size, unpack, crc32 = 0, len(data), _FRAME.unpack_from, zlib.crc32
    while position + 8 <= size:
        length, crc = unpack(data, position)
        start = position + 8
        stop = start + length
        if length == 0 or stop > size:
            return
        payload = data[start:stop]
        if crc32(payload) != crc:
            raise Broken
        end = position + ((length + 15) & ~7)  # frame_size, without a call
        yield Frame(payload, position, end)
        position = end


def strip_zeros(data: bytes) -> bytes:
    """Return bytes without the zeros at their end, of which a segment has millions: ``rstrip`` looks at each.

    >>> strip_zeros(b"abc" + bytes(100_000))
    b'abc'
    """
    end = len(data)
    while data.endswith(_ZEROS, 0, end):
        end -= len(_ZEROS)
    return data[:end].rstrip(b"\0")


def find_frame(data: bytes) -> int:
    """Return where the first frame is after damage at the beginning of some bytes; their length if there is none.

    After a loss of power a page may be missing before others that are there.
    """
    size = len(data)
    for start in range(8, len(strip_zeros(data)) - 8, 8):
        length = _LENGTH.unpack_from(data, start)[0]
        if 0 < length <= min(LARGEST, size - start - 8):
            payload = data[start + 8 : start + 8 + length]
            if payload[0] and zlib.crc32(payload) == _LENGTH.unpack_from(data, start + 4)[0]:
                return start
    return size


def erase(descriptor: int, start: int, length: int) -> None:
    """Overwrite the payload of a frame with zeros, which readers pass over."""
    zeros = bytes(length)
    os.pwrite(descriptor, _LENGTH.pack(zlib.crc32(zeros)) + zeros, start + 4)


def is_erased(payload: bytes) -> bool:
    """Return whether a payload was erased; no record begins with a zero byte."""
    return payload[0] == 0
