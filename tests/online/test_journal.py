"""The journal: what is accepted is there, whatever happens to its process; what is not is counted."""

from __future__ import annotations

import os
import resource
import signal
import struct
import threading
import zlib
from mmap import mmap
from pathlib import Path
from types import FrameType
from typing import cast

import pytest

from karat.online._journal import Journal
from karat.online._segment import (
    HEADER,
    Broken,
    Segment,
    erase,
    find_frame,
    frame_size,
    is_erased,
    read_frames,
    read_header,
)


def payloads(folder: Path) -> list[bytes]:
    """Return what the segments of a folder hold, in the order of their names."""
    return [frame.payload for path in sorted(folder.glob("*.seg")) for frame in read_frames(path.read_bytes()[HEADER:])]


def test_a_frame_by_hand(tmp_path: Path) -> None:
    """Length, CRC-32, payload, zeros up to a multiple of 8; all little-endian, after a header of 4096 bytes."""
    journal = Journal(tmp_path)
    assert journal.append(b"record")
    assert journal.append(b"12345678")
    (path,) = tmp_path.glob("*.seg")
    data = path.read_bytes()
    first = struct.pack("<II", 6, zlib.crc32(b"record")) + b"record\0\0"
    second = struct.pack("<II", 8, zlib.crc32(b"12345678")) + b"12345678"
    assert data[:8] == b"KARATJ01"
    assert data[HEADER : HEADER + 32] == first + second
    assert not any(data[HEADER + 32 :])
    assert (header := read_header(data)) is not None
    assert not header.closed
    journal.close()
    assert (header := read_header(path.read_bytes())) is not None
    assert header.closed


def test_a_full_segment_is_followed_by_another(tmp_path: Path) -> None:
    """No record is lost between segments, whether the next one was made in the background or when it was needed."""
    journal = Journal(tmp_path, segment_bytes=2 * HEADER)
    records = [f"{number:0100}".encode() for number in range(100)]
    for record in records:
        assert journal.append(record)
        journal.keep()
    journal.close()
    assert len(list(tmp_path.glob("*.seg"))) >= 100 * frame_size(100) // HEADER
    assert sorted(payloads(tmp_path)) == records
    assert journal.dropped == {}


def test_a_segment_made_ahead_is_used(tmp_path: Path) -> None:
    """It is filled with zeros before, which harm neither its header nor what is written into it."""
    journal = Journal(tmp_path, segment_bytes=2 * HEADER)
    journal.append(b"first")
    journal.make_spare()
    assert len(list(tmp_path.glob("*.seg"))) == 2
    journal.append(bytes(range(1, 250)) * 16)
    journal.close()
    assert len(list(tmp_path.glob("*.seg"))) == 2
    assert payloads(tmp_path) == [b"first", bytes(range(1, 250)) * 16]


def test_memory_is_prepared_only_while_records_come(tmp_path: Path) -> None:
    """A host that is silent writes nothing to the disk; one that writes has pages ahead, within the segment."""
    segment = Segment(tmp_path / "a.seg", 1 << 17)
    spans: list[tuple[int, int]] = []

    class Map:
        def __len__(self) -> int:
            return 1 << 17

        def madvise(self, _: int, start: int, length: int) -> None:
            spans.append((start, length))

    real, segment.map = segment.map, cast("mmap", Map())
    for end in (HEADER, HEADER + 5000, HEADER + 5000, (1 << 17) - 100):
        segment.end = end
        segment.prepare()
    segment.map = real
    segment.close()
    assert spans == [(8192, 1 << 16), ((1 << 17) - 4096, 4096)]


def test_threads_share_a_journal(tmp_path: Path) -> None:
    """No record of any thread is lost or mixed with another."""
    journal = Journal(tmp_path, segment_bytes=4 * HEADER)

    def write(name: str) -> None:
        for number in range(200):
            journal.append(f"{name}-{number}".encode() * 5)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    assert sorted(payloads(tmp_path)) == sorted(f"{name}-{n}".encode() * 5 for name in "abcd" for n in range(200))


def test_what_cannot_be_written_is_counted_and_not_raised(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder that is a file, a record that is too large, a journal that is closed: each has its own count."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    journal = Journal(blocked)
    assert not journal.append(b"x")
    assert not journal.append(b"x")
    assert journal.dropped == {"disk": 2}
    assert "dropped (disk)" in caplog.text
    journal = Journal(tmp_path / "good", segment_bytes=2 * HEADER)
    assert journal.append(b"x")
    assert not journal.append(bytes(HEADER))
    path = min((tmp_path / "good").glob("*.seg"))  # there may be a second one already, for what comes next
    assert (header := read_header(path.read_bytes())) is not None
    assert header.dropped == {"too_large": 1}
    journal.close()
    assert not journal.append(b"x")
    assert journal.dropped == {"too_large": 1, "closed": 1}


def test_a_full_disk_costs_records_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment that cannot be allocated leaves no file; when there is room again, the count is in its header."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    journal = Journal(tmp_path, segment_bytes=1 << 16)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
    try:
        assert not journal.append(b"x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == []
    assert not journal.append(b"x"), "it does not try again at once"
    monkeypatch.setattr("karat.online._journal.time.monotonic", lambda: 1e9)
    assert journal.append(b"x")
    (path,) = tmp_path.glob("*.seg")
    assert (header := read_header(path.read_bytes())) is not None
    assert header.dropped == {"disk": 2}
    journal.close()


def test_a_signal_in_the_middle_of_a_record(tmp_path: Path) -> None:
    """A handler may log, or raise: what was accepted before and after is there."""
    journal = Journal(tmp_path, segment_bytes=1 << 22)
    inside: list[bytes] = []
    handling = threading.Lock()

    def handle(_: int, frame: FrameType | None) -> None:
        if not handling.acquire(blocking=False):  # a slow machine: the next signal came while one was handled
            return
        record = b"inside %d" % len(inside)
        assert journal.append(record)
        inside.append(record)
        handling.release()
        if len(inside) % 2 and frame and Path(frame.f_code.co_filename).name in ("_journal.py", "_segment.py"):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    accepted: list[bytes] = []
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        number = 0
        while len(inside) < 100:
            number += 1
            try:
                if journal.append(b"outside %d" % number * 50):
                    accepted.append(b"outside %d" % number * 50)
            except KeyboardInterrupt:
                continue
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    journal.append(b"the last")
    journal.close()
    assert {*accepted, *inside, b"the last"} <= set(payloads(tmp_path))


def test_a_broken_frame_is_noticed_and_passed_over() -> None:
    """A wrong checksum raises; the next whole frame is found."""
    good = struct.pack("<II", 6, zlib.crc32(b"record")) + b"record\0\0"
    bad = struct.pack("<II", 6, 1) + b"record\0\0"
    with pytest.raises(Broken):
        list(read_frames(bad + good))
    assert find_frame(bad + good + bytes(64)) == len(bad)
    assert find_frame(bytes(64)) == 64


def test_an_erased_payload_has_a_good_checksum(tmp_path: Path) -> None:
    """After erasing, no byte of the record is in the file, and the frames after it are read."""
    journal = Journal(tmp_path)
    journal.append(b"secret")
    journal.append(b"public")
    (path,) = tmp_path.glob("*.seg")
    descriptor = os.open(path, os.O_RDWR)
    erase(descriptor, HEADER, 6)
    os.close(descriptor)
    assert b"secret" not in path.read_bytes()
    first, second = payloads(tmp_path)
    assert is_erased(first)
    assert second == b"public"
    journal.close()


@pytest.mark.parametrize("noticed", ["in the background", "when it is full", "at the end"])
def test_a_segment_that_somebody_removes_is_written_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, noticed: str
) -> None:
    """What is in memory is not lost with the folder, nor what comes later; it is counted, as older ones may be gone."""
    folder = tmp_path / "journal"
    journal = Journal(folder, segment_bytes=2 * HEADER, sync=1000)
    records = [f"{number:0100}".encode() for number in range(60)]
    for record in records[:20]:
        assert journal.append(record)
    (tmp_path / "journal").rename(tmp_path / "elsewhere")
    assert journal.append(records[20])
    if noticed == "in the background":
        journal.keep()
        assert payloads(folder) == records[:21]
    if noticed != "at the end":
        for record in records[21:]:
            assert journal.append(record)
    journal.close()
    assert sorted(payloads(folder)) == records[: 21 if noticed == "at the end" else None]
    headers = [read_header(path.read_bytes()) for path in folder.glob("*.seg")]
    assert [header.dropped for header in headers if header is not None and header.dropped] == [{"removed": 1}]
    assert "removed under a running host" in caplog.text
    assert journal.dropped == {}


def test_a_segment_that_cannot_be_written_again_is_counted(tmp_path: Path) -> None:
    """If nothing can be written where the folder was, its records are lost, and counted one by one."""
    folder = tmp_path / "journal"
    journal = Journal(folder, sync=1000)
    for _ in range(3):
        assert journal.append(b"record")
    journal.hold()  # or the journal's own thread may make the folder again in between
    folder.rename(tmp_path / "elsewhere")
    folder.write_text("in the way")
    journal.release()
    journal.keep()
    assert journal.append(b"record"), "there may be room again before the end"
    journal.close()
    assert journal.dropped == {"disk": 4}
