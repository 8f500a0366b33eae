"""A loss of power: of what was written after the last sync, the disk has any part, in any order.

The disk here is one that keeps what was there when a sync began, and of every later change by chance some sectors or
pages. What it has then is ingested.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from karat import online
from karat.online import _journal, _segment, check_health, ingest, read_log
from karat.online._drafts import decode_draft
from karat.online._paths import find_paths
from karat.online._segment import HEADER, MAGIC, read_frames

SEGMENT = 16 * 4096


class Disk:
    """Remembers what files were like when their last sync began, by their inode, and whether their names are there."""

    def __init__(self) -> None:
        self.files: dict[int, bytes] = {}
        self.named: set[int] = set()

    def sync(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        self.files[status.st_ino] = os.pread(descriptor, status.st_size, 0)

    def sync_folder(self, folder: Path) -> None:
        self.named |= {path.stat().st_ino for path in folder.iterdir()}

    def lose_power(self, journal: Path, image: Path, rng: random.Random) -> None:
        """Write what is left of a journal to another folder."""
        image.mkdir()
        unit, share = rng.choice((512, 4096)), rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for path in journal.glob("*.seg"):
            now, inode = path.read_bytes(), path.stat().st_ino
            if inode not in self.named and rng.random() < 0.5:
                continue
            then = self.files.get(inode, bytes(len(now)))
            left = [(now if rng.random() < share else then)[at : at + unit] for at in range(0, len(now), unit)]
            (image / path.name).write_bytes(b"".join(left))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk that all journals of a test are on."""
    disk = Disk()
    for module in (_journal, _segment):
        monkeypatch.setattr(module, "sync", disk.sync)
        monkeypatch.setattr(module, "sync_folder", disk.sync_folder)
    return disk


class Host:
    """A host that logs; nothing of its journal happens in the background."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        self.log, self.rng, self.accepted = online.open(path, segment_bytes=SEGMENT), rng, list[str]()
        self.journal = self.log._journal
        self.journal._thread = threading.current_thread()

    def write(self, count: int) -> None:
        for _ in range(count):
            if self.rng.random() < 0.1:
                self.journal.make_spare(soon=True)
            text = f"{len(self.accepted)} " + "word " * self.rng.choice((0, 3, 30, 300, 1500))
            self.log.record(text, ["a", "b"], session="s")
            self.accepted.append(text)

    def sync(self) -> None:
        """What the background does in every interval of the sync."""
        self.journal.keep()
        self.journal.sync_retired()


def list_frames(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the text and the bytes of every record that hosts have written."""
    for path in folder.glob("*.seg"):
        data = path.read_bytes()[HEADER:]
        for frame in read_frames(data):
            yield decode_draft(frame.payload).text, data[frame.start : frame.end]


def count_bytes(parts: Iterator[bytes]) -> int:
    return sum(len(part) - part.count(0) for part in parts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16))
def test_a_loss_of_power_costs_what_came_after_the_last_sync(tmp_path: Path, disk: Disk, seed: int) -> None:
    """What was accepted before it is stored once; of the rest whole records only, and all else is set aside."""
    rng = random.Random(seed)
    path, image = tmp_path / "host" / "karat.db", tmp_path / "left" / "karat.db"
    host = Host(path, rng)
    durable = 0
    for _ in range(rng.randrange(3)):
        host.write(rng.randrange(60))
        host.sync()
        durable = len(host.accepted)
    host.write(rng.randrange(60))
    frames = dict(list_frames(find_paths(path).journal))
    assert sorted(frames) == sorted(host.accepted)
    image.parent.mkdir()
    disk.lose_power(find_paths(path).journal, find_paths(image).journal, rng)
    files = [file.read_bytes() for file in find_paths(image).journal.glob("*.seg")]
    whole = count_bytes(data[HEADER if data.startswith(MAGIC) else 0 :] for data in files)

    done = ingest(image)
    with read_log(image) as reader:
        stored = [query.text for query in reader.queries()]
    assert len(stored) == len(set(stored)) == done.records
    assert set(host.accepted[:durable]) <= set(stored) <= set(host.accepted)
    torn = list(find_paths(image).torn.glob("*")) if find_paths(image).torn.exists() else []
    assert whole == count_bytes(frames[text] for text in stored) + count_bytes(file.read_bytes() for file in torn)
    health = check_health(image)
    assert {damage.file for damage in health.damages} == {file.name for file in torn}, "one file for each segment"
    assert sum(damage.parts for damage in health.damages) == done.damaged
    assert health.healthy == (not torn)
    host.log.close()


def test_a_full_segment_is_synced(tmp_path: Path, disk: Disk) -> None:
    """It would else be left to the kernel, which takes half a minute."""
    host = Host(tmp_path / "karat.db", random.Random(1))
    host.write(200)
    segments = [path.stat().st_ino for path in (tmp_path / "karat.db.journal").glob("*.seg")]
    assert len(segments) > 3
    host.sync()
    assert disk.files.keys() >= set(segments)
    assert disk.named >= set(segments)
    host.log.close()


def test_the_background_syncs_full_segments(tmp_path: Path) -> None:
    """The thread that a journal has leaves no descriptor behind."""
    journal = _journal.Journal(tmp_path, segment_bytes=2 * HEADER, sync=0.01)
    for number in range(300):
        assert journal.append(f"{number:0200}".encode())
    thread = journal._thread
    journal.close()
    assert thread is not None
    thread.join(600)
    assert not journal._retired
    places = set()
    for link in Path("/proc/self/fd").glob("*"):  # none where there is no such folder
        with suppress(FileNotFoundError):
            places.add(str(link.readlink()))
    assert not [place for place in places if place.startswith(str(tmp_path))]
