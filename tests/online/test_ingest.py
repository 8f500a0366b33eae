"""From the journal into the store: exactly once, and what is damaged is kept aside and told."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from each import each
from karat import online
from karat.core import InputError, KaratError, SystemFailed
from karat.online import check_health, ingest, read_log
from karat.online._drafts import EventDraft, QueryDraft, encode_draft
from karat.online._ingest import lock_ingester
from karat.online._journal import Journal
from karat.online._paths import find_paths
from karat.online._segment import HEADER, frame_size, read_frames, strip_zeros
from karat.store import open_store


def write(path: Path, count: int, *, close: bool = True) -> online.Log:
    """Write queries called 0, 1, ..."""
    log = online.open(path)
    for number in range(count):
        log.record(str(number), ["a"])
    if close:
        log.close()
    return log


def texts(path: Path) -> list[str]:
    """Return the queries of a store, in the order of time."""
    with read_log(path) as reader:
        return [query.text for query in reader.queries()]


def segment(path: Path) -> Path:
    """Return the only segment of a log."""
    (found,) = find_paths(path).journal.glob("*.seg")
    return found


def frames(path: Path) -> list[tuple[int, int]]:
    """Return the position and the length of the payload of each frame."""
    return [(HEADER + frame.start, len(frame.payload)) for frame in read_frames(path.read_bytes()[HEADER:])]


def test_a_segment_is_read_as_it_grows_and_goes_with_its_writer(tmp_path: Path) -> None:
    """What is there is read, then only what is new; the file goes when its writer has closed it."""
    path = tmp_path / "karat.db"
    log = write(path, 3, close=False)
    assert ingest(path).records == 3
    log.record("3", ["a"])
    done = ingest(path)
    assert (done.records, done.repeated, done.segments) == (1, 0, 0)
    log.close()
    assert ingest(path).segments == 1
    assert not list(find_paths(path).journal.glob("*.seg"))
    assert ingest(path) == online.Ingested()
    assert texts(path) == ["0", "1", "2", "3"]


def test_a_segment_that_comes_twice_is_stored_once(tmp_path: Path) -> None:
    """An id makes a replay harmless: of a segment that was restored from a backup, or renamed."""
    path = tmp_path / "karat.db"
    write(path, 3)
    copy = segment(path).read_bytes()
    ingest(path)
    (find_paths(path).journal / "again.seg").write_bytes(copy)
    done = ingest(path)
    assert (done.records, done.repeated) == (0, 3)
    assert texts(path) == ["0", "1", "2"]


@pytest.mark.parametrize("damage", ["checksum", "length", "zeros", "tail", "header"])
def test_damage_is_kept_aside_and_the_rest_is_read(tmp_path: Path, damage: str) -> None:
    """A flipped bit, a length out of range, a lost page or an incomplete record costs what it hit and no more."""
    path = tmp_path / "karat.db"
    write(path, 5)
    file = segment(path)
    data = bytearray(file.read_bytes())
    places = frames(file)
    start, length = places[2]
    match damage:
        case "checksum":
            data[start + 12] ^= 1
        case "length":
            data[start : start + 4] = b"\xff" * 4
        case "zeros":
            data[start : start + frame_size(length)] = bytes(frame_size(length))
        case "tail":
            end = places[-1][0]
            data[end : end + 4] = bytes(4)
        case "header":
            data[:8] = bytes(8)
    file.write_bytes(data)
    expected = {"tail": ["0", "1", "2", "3"], "header": []}.get(damage, ["0", "1", "3", "4"])
    done = ingest(path)
    assert texts(path) == expected
    assert done.damaged == (0 if damage == "zeros" else 1)
    assert done.segments == 1
    with open_store(path) as store:
        kept = [(file, size) for _, file, size, *_ in store.damages()]
    assert [(find_paths(path).torn / name).stat().st_size for name, _ in kept] == [size for _, size in kept]
    assert len(kept) == done.damaged


def test_damage_under_a_living_writer_waits(tmp_path: Path) -> None:
    """A checksum may be wrong because the frame is not complete yet: nothing is given up before the writer is gone."""
    path = tmp_path / "karat.db"
    log = write(path, 3, close=False)
    file = segment(path)
    start, _ = frames(file)[1]
    with file.open("r+b") as stream:
        stream.seek(start + 12)
        byte = stream.read(1)
        stream.seek(start + 12)
        stream.write(bytes([byte[0] ^ 1]))
    assert ingest(path).damaged == 0
    assert texts(path) == ["0"]
    with file.open("r+b") as stream:
        stream.seek(start + 12)
        stream.write(byte)
    assert ingest(path).records == 2
    log.close()


def write_raw(path: Path, *drafts: EventDraft | QueryDraft) -> None:
    """Write records into one segment as they are: a host looks at them before, but others may not."""
    online.open(path).close()
    journal = Journal(find_paths(path).journal)
    for draft in drafts:
        journal.append(encode_draft(draft))
    journal.close()


def make_read(number: int, rank: Any) -> EventDraft:
    return EventDraft(f"{number:014x}-{'0' * 25}", 1.7e9 + number, "read_after_search", "s", document="a", rank=rank)


def test_a_record_that_cannot_be_stored_goes_aside(tmp_path: Path) -> None:
    """A number that no file holds costs its own record, which is kept and told, and nothing else."""
    path = tmp_path / "karat.db"
    large = QueryDraft(f"{3:014x}-{'0' * 25}", 1.7e9, "large", hits=["a"], count=2**63)
    write_raw(path, make_read(1, 2**63), make_read(2, "9223372036854775808"), large)
    with online.open(path) as log:
        log.record("fine", ["a"])
    done = ingest(path)
    assert (done.records, done.repeated, done.damaged) == (1, 0, 3)
    assert texts(path) == ["fine"]
    assert len(list(find_paths(path).torn.iterdir())) == 1, "those of one segment are in one file"
    assert not check_health(path).healthy


def test_a_row_that_breaks_a_rule_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a later version may write: the batch is stored row by row, and the bad one is kept aside."""
    path = tmp_path / "karat.db"
    monkeypatch.setattr("karat.online._drafts.to_rank", lambda rank: rank)
    write_raw(path, *(make_read(number, rank) for number, rank in enumerate((1, 0, 2**63, 2))))
    done = ingest(path)
    assert (done.records, done.repeated, done.damaged) == (2, 0, 2)
    with open_store(path) as store:
        assert next(reason for *_, reason, _ in store.damages()).startswith("not a record: CHECK constraint failed")


def test_ranks_and_times_that_cannot_be_right(tmp_path: Path) -> None:
    """A rank below 1 is none; a time of another unit or clock is the writer's, and the given one is kept."""
    path = tmp_path / "karat.db"
    before = time.time()
    with online.open(path) as log:
        for rank in (1, 0, -1):
            log.feedback("read_after_search", "s", "a", rank=rank)
        wrong = (float("nan"), float("inf"), 1e300, -1e300, 1.7e12, 0.0, 3600.5)
        for moment in wrong:
            log.record("q", ["a"], time=moment)
    done = ingest(path)
    assert (done.records, done.repeated, done.damaged, done.corrected) == (10, 0, 0, 7)
    with read_log(path) as reader:
        assert [event.rank for event in reader.events()] == [1, None, None]
        queries = list(reader.queries())
    assert all(before - 1 <= query.time <= time.time() + 1 for query in queries)
    assert [query.attributes["given_time"] for query in queries] == [repr(moment) for moment in wrong]


def test_a_store_with_times_of_an_earlier_version(tmp_path: Path) -> None:
    """Any number that is in a store already can be shown and expire."""
    path = tmp_path / "karat.db"
    write(path, 2)
    ingest(path)
    with open_store(path, write=True) as store, store.transaction():
        store._database.execute("update queries set time = case text when '0' then -1e300 else 9e999 end")
    assert check_health(path).queries.last == "9999-12-31T23:59:59.000000Z"
    assert online.expire(path).archived == 1


def test_what_is_kept_aside_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that takes a part only, as on a disk that is nearly full, is followed by another."""
    path = tmp_path / "karat.db"
    write_raw(path, make_read(1, 2**63))
    write_all = os.write

    def fail(file: int, data: bytes) -> int:
        write_all(file, bytes(data)[:7])
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr("karat.online._ingest.os.write", fail)
    with pytest.raises(KaratError):
        ingest(path)
    assert list(find_paths(path).torn.iterdir()) == [], "every attempt would leave another part"
    monkeypatch.setattr("karat.online._ingest.os.write", lambda file, data: write_all(file, bytes(data)[:7]))
    assert ingest(path).damaged == 1
    (kept,) = find_paths(path).torn.iterdir()
    with open_store(path) as store:
        assert kept.stat().st_size == store.damages()[0][2]


def test_two_ingesters_at_once(tmp_path: Path) -> None:
    """The second leaves the work to the first."""
    path = tmp_path / "karat.db"
    write(path, 2)
    with lock_ingester(find_paths(path)):
        assert ingest(path) == online.Ingested(busy=True)
    assert ingest(path).records == 2


def test_drops_reach_the_store(tmp_path: Path) -> None:
    """What a host dropped is counted in the store, once, however often it is looked at."""
    path = tmp_path / "karat.db"
    log = write(path, 1, close=False)
    log.record("x" * 2_000_000)
    log.record("q", evil=2**70)
    for _ in range(2):
        ingest(path)
        with open_store(path) as store:
            assert list(store.drops().values()) == [{"encode": 1, "too_large": 1}]
    log.close()


def test_a_store_that_is_no_store(tmp_path: Path) -> None:
    """A corrupt file is refused with one message, and the journal is kept; the host does not notice."""
    path = tmp_path / "karat.db"
    path.write_bytes(b"not a database" * 1000)
    write(path, 2)
    with pytest.raises(InputError, match="move it away"):
        ingest(path)
    path.unlink()
    assert ingest(path).records == 2


def test_a_page_of_the_store_is_corrupt(tmp_path: Path) -> None:
    """The ingester stops with one message, and what it could not store stays in the journal."""
    path = tmp_path / "karat.db"
    write(path, 300)
    ingest(path)
    size = path.stat().st_size
    with path.open("r+b") as stream:
        for page in range(1, size // 4096):
            stream.seek(4096 * page)
            stream.write(b"\xff" * 4096)
    write(path, 2)
    with pytest.raises((InputError, SystemFailed)):
        ingest(path)
    assert len(frames(segment(path))) == 2


@pytest.mark.usefixtures("steps_are_taken")
@pytest.mark.parametrize("pages", [10, 60], ids=["when it is made", "when records come"])
def test_a_disk_that_is_full_for_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int) -> None:
    """The message says so. What cannot be written is undone as a whole: the next ingester begins where it began."""
    connect = sqlite3.connect

    def connect_to_small_disk(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute(f"pragma max_page_count = {pages}")  # more raises what a full disk raises
        return connection

    path = tmp_path / "karat.db"
    write(path, 2000)
    with monkeypatch.context() as small:
        small.setattr("karat.store._sqlite.sqlite3.connect", connect_to_small_disk)
        with pytest.raises(SystemFailed, match=r"the disk is full: .* what is in the journal stays there"):
            ingest(path)
        if pages > 10:
            assert check_health(path).queries.rows == 0
    assert ingest(path).records == 2000
    assert len(set(texts(path))) == 2000


def test_a_disk_that_is_full_for_what_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be written aside is a full disk, too, and no damage of the store."""
    path = tmp_path / "karat.db"
    write(path, 2)
    with segment(path).open("r+b") as stream:
        stream.seek(HEADER + 12)
        stream.write(b"\xff")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("karat.online._ingest.os.fsync", fail)
        with pytest.raises(SystemFailed, match="the disk is full"):
            ingest(path)
    assert ingest(path).damaged == 1


@each("size", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 200_000])
@each("zeros", [0, 1, (1 << 16) - 1, 1 << 16, (1 << 16) + 1, 200_000])
def test_zeros_at_the_end_are_taken_away(size: int, zeros: int) -> None:
    """Those at the end, however many there are, and none before."""
    for data in (bytes(size), bytes(size) + b"x", b"x" * size, b"x" + bytes(size) + b"x"):
        assert strip_zeros(data + bytes(zeros)) == data.rstrip(b"\0")


def run_killing(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    """Run rounds of killing in a process of their own, since they fork."""
    script = Path(__file__).with_name("killing.py")
    command = [sys.executable, str(script), str(folder), str(rounds), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    return dict(json.loads(done.stdout))


@pytest.mark.slow(25)
def test_killed_at_any_moment_in_200_runs(tmp_path: Path) -> None:
    """Writers, a fork of one, and two ingesters are killed: every accepted record is in the store exactly once."""
    result = run_killing(tmp_path, 200, 7)
    assert result["accepted"] > 0
    assert result["killed"] == 200 * 6
    assert [result[name] for name in ("lost", "twice", "segments")] == [0, 0, 0]
    assert result["damaged"] <= 200 * 5, "a record that was not accepted yet may be left, once for each writer"
