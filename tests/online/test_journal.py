"""The journal: what is accepted is there, whatever happens to its process; what is not is counted."""

from __future__ import annotations

import os
import resource
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
import zlib
from itertools import pairwise
from mmap import mmap
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import cast

import pytest

from karat.online import _journal
from karat.online._journal import Journal
from karat.online._marks import _PidMark
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
    journal.make_spare(soon=True)
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
    limits = []
    for end in (HEADER, HEADER + 5000, HEADER + 5000, (1 << 17) - 100):
        segment.end = end
        segment.prepare(synced=True)
        limits.append(segment.limit)
    segment.map = real
    segment.close()
    assert spans == [(8192, 1 << 16), ((1 << 17) - 4096, 4096)]
    assert limits == [HEADER, 8192 + (1 << 15), 8192 + (1 << 15), segment.last]


def test_a_host_asks_for_memory_before_it_needs_it(tmp_path: Path) -> None:
    """At half of what is prepared, once; then four times as much is, so that a busy host asks seldom."""
    journal = Journal(tmp_path, sync=1000)
    journal._thread = threading.current_thread()  # nothing happens in the background
    sizes: list[int] = []
    for _ in range(2000):
        assert journal.append(bytes([1]) * 1000)
        if journal._segment is not None and journal._wake.is_set():
            journal._wake.clear()
            journal.prepare()
            sizes.append(journal._segment.end)
    journal.close()
    steps = [after - before for before, after in pairwise(sizes)]
    assert steps == pytest.approx([1 << 17, 1 << 19], abs=3 * 4096)


def test_the_disk_gets_records_in_time_though_the_host_asks_for_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that is so busy that the background always has something to prepare is synced all the same."""
    journal = Journal(tmp_path)
    kept, now = list[float](), [0.0]

    class Wake(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            now[0] += 0.25  # it is woken four times in an interval
            journal._closed = now[0] > 3
            return True

    monkeypatch.setattr(_journal, "time", SimpleNamespace(monotonic=lambda: now[0], time_ns=time.time_ns))
    monkeypatch.setattr(journal, "keep", lambda: kept.append(now[0]))
    _journal._keep(weakref.ref(journal), Wake())
    assert kept == [0.0, 1.0, 2.0, 3.0]


def test_a_frame_that_was_begun_and_not_ended_is_overwritten(tmp_path: Path) -> None:
    """A handler may raise after the payload was copied, or after the frame was complete: the next ones can be read."""
    segment = Segment(tmp_path / "a.seg", 1 << 16)
    segment.extend()
    assert segment.put(b"first", zlib.crc32(b"first"))
    segment._torn = True
    segment.map[segment.end + 8 : segment.end + 5008] = b"x" * 5000
    assert segment.put(b"second", zlib.crc32(b"second"))
    end = segment.end
    assert segment.put(b"third", zlib.crc32(b"third"))
    segment.end, segment._torn = end, True
    assert segment.put(b"fourth", zlib.crc32(b"fourth"))
    data = segment.map[HEADER:]
    assert [frame.payload for frame in read_frames(data)] == [b"first", b"second", b"third", b"fourth"]
    assert not any(data[segment.end - HEADER :])
    segment.close()


FORK = """
import ctypes, os, sys
from pathlib import Path
from karat.online._journal import Journal

journal = Journal(Path(sys.argv[1]))
before = journal.new_id(1.0)
child = ctypes.PyDLL(None).fork()
if child == 0:
    right = journal.append(b"child") and journal.new_id(1.0)[-17:] != before[-17:]
    os._exit(0 if right else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert journal.append(b"parent") and journal.new_id(1.0)[-17:] == before[-17:]
"""


@pytest.mark.slow
def test_a_fork_that_python_does_not_know_of(tmp_path: Path) -> None:
    """A library may fork: the child has a segment and ids of its own, and the parent's are as before."""
    subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], check=True, timeout=600)
    assert sorted(payloads(tmp_path)) == [b"child", b"parent"]
    assert len(list(tmp_path.glob("*.seg"))) == 2


def test_a_mark_where_pages_stay_after_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of the process says it then."""
    mark = _PidMark()
    assert mark[0]
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert not mark[0]


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


@pytest.mark.parametrize("room", ["always", "at the end"])
def test_a_process_that_accepts_nothing_leaves_its_count(tmp_path: Path, room: str) -> None:
    """A host all of whose records are dropped is the one whose health matters most."""
    folder, reason = tmp_path / "journal", "too_large" if room == "always" else "disk"
    if room == "at the end":
        folder.write_text("in the way")
    journal = Journal(folder, segment_bytes=2 * HEADER)
    assert not journal.append(bytes(HEADER if room == "always" else 1))
    if room == "at the end":
        folder.unlink()
    else:
        assert read_header(min(folder.glob("*.seg")).read_bytes()) == (False, {"too_large": 1}), "before the end"
    journal.close()
    headers = [read_header(path.read_bytes()) for path in folder.glob("*.seg")]
    assert [header.dropped for header in headers if header is not None and header.dropped] == [{reason: 1}]


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
