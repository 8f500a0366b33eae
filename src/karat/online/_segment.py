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
import zlib
from collections.abc import Iterator
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

MAGIC = b"KARATJ01"
HEADER = 4096
SUFFIX = ".seg"
LARGEST = 1 << 20
"""The most bytes of a payload."""
NEW_SUFFIX = ".new"
"""Of a segment that is being made: it has no frames, and its writer may not have its lock yet."""
REASONS = ("encode", "too_large", "disk", "closed", "other")
"""Why a record may be dropped, in the order of the header's counters."""

_LENGTH = struct.Struct("<I")
_STATE = struct.Struct("<Q")
_COUNTS = struct.Struct(f"<{len(REASONS)}Q")
_STATE_AT, _COUNTS_AT = 8, 64
_ZERO = bytes(4)
_PADDING = tuple(bytes((-length) % 8 + 4) for length in range(8))
"""What follows a payload, by its length modulo 8: up to the next frame, and the zero length that ends the segment."""
_PIECE = 4096  # zlib lets go of the interpreter lock above 5 KB, and waits for it beside a busy thread


def checksum(payload: bytes) -> int:
    """Return the CRC-32 of a payload without ever releasing the interpreter lock.

    >>> checksum(bytes(10_000)) == zlib.crc32(bytes(10_000))
    True
    """
    if len(payload) <= _PIECE:
        return zlib.crc32(payload)
    crc = 0
    for start in range(0, len(payload), _PIECE):
        crc = zlib.crc32(payload[start : start + _PIECE], crc)
    return crc


def frame_size(length: int) -> int:
    """Return how many bytes a frame takes.

    >>> frame_size(8), frame_size(9)
    (16, 24)
    """
    return (length + 15) & ~7


class Segment:
    """A segment that this process writes; the caller holds a lock."""

    __slots__ = ("descriptor", "end", "last", "map", "path")

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
        self.end = HEADER
        self.last = size - len(_ZERO)

    def has_room(self, length: int) -> bool:
        """Return whether a payload of that length fits."""
        return self.end + frame_size(length) <= self.last

    def put(self, payload: bytes, crc: int) -> None:
        """Write a frame. If a signal's handler raises on the way, the frame is there or it is not."""
        end, length = self.end, len(payload)
        if self.map[end : end + 4] != _ZERO:  # a handler raised after a frame was complete, before it was counted
            self.end = end = end + frame_size(_LENGTH.unpack_from(self.map, end)[0])
        body = b"".join((_LENGTH.pack(crc), payload, _PADDING[length & 7]))
        self.map[end + 4 : end + 4 + len(body)] = body
        _LENGTH.pack_into(self.map, end, length)
        self.end = end + frame_size(length)

    def set_counts(self, counts: dict[str, int]) -> None:
        """Write how many records were dropped while this segment was the journal's end."""
        _COUNTS.pack_into(self.map, _COUNTS_AT, *(counts.get(reason, 0) for reason in REASONS))

    def sync(self) -> None:
        """Wait until the disk has what was written so far."""
        getattr(os, "fdatasync", os.fsync)(self.descriptor)  # mmap.flush() would hold the interpreter lock meanwhile

    def close(self, *, finished: bool = True) -> None:
        """Close the file. ``finished`` says to readers that nothing more will come."""
        if finished:
            _STATE.pack_into(self.map, _STATE_AT, 1)
        self.map.close()
        os.close(self.descriptor)


def lock(descriptor: int) -> bool:
    """Lock a segment; return whether nobody else had done so. The lock goes when its process dies."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
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
    """A payload, where its frame begins in the data, and where the next one does."""

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
    position, size = 0, len(data)
    while position + 8 <= size:
        length, crc = _LENGTH.unpack_from(data, position)[0], _LENGTH.unpack_from(data, position + 4)[0]
        if length == 0:
            return
        stop = position + 8 + length
        if stop > size:
            return
        payload = data[position + 8 : stop]
        if zlib.crc32(payload) != crc:
            raise Broken
        end = position + frame_size(length)
        yield Frame(payload, position, end)
        position = end


def find_frame(data: bytes) -> int:
    """Return where the first frame is after damage at the beginning of some bytes; their length if there is none.

    After a loss of power a page may be missing before others that are there.
    """
    size = len(data)
    for start in range(8, len(data.rstrip(b"\0")) - 8, 8):
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
