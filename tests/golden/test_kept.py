"""Digests that are kept in the user's cache: the right ones, or none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from karat.core import Document, GoldenSet, Judgment, Query, Target
from karat.golden import _fingerprint, _kept, _questions, describe_questions, identify, read, write

SET = GoldenSet(
    documents=(Document(id="pool", text="Opens at six."), Document(id="wifi", text="Ask at the desk.")),
    queries=(Query(id="q1", text="When?"), Query(id="q2", text="Where?", must_show=("wifi",))),
    judgments=(
        Judgment(query="q1", target=Target(document="pool"), grade=3),
        Judgment(query="q2", target=Target(document="wifi"), grade=2),
    ),
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, in which digests of sets of any size are kept."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_kept, "_LEAST", 0)
    return tmp_path / "cache" / "golden"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(SET, tmp_path / "set")
    return tmp_path / "set"


def digests(golden: GoldenSet) -> list[object]:
    return [identify(golden), dict(describe_questions(golden))]


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every attempt to compute a digest fail."""
    monkeypatch.delattr(_fingerprint, "_compute")
    monkeypatch.delattr(_questions._Questions, "_digest_pieces")


def test_the_same_files_are_digested_once(cache: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time nothing is computed, and what is kept is what a set without a cache has."""
    first = digests(read(folder))
    assert first == digests(SET)
    assert len(list(cache.iterdir())) == 3
    forbid(monkeypatch)
    assert digests(read(folder)) == first


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["golden.toml", "documents.jsonl", "queries.jsonl", "judgments.jsonl"])
def test_other_files_have_other_digests(folder: Path, name: str) -> None:
    """A change of any file of the set is noticed, whatever is kept."""
    before = digests(read(folder))
    text = (folder / name).read_text()
    changed = {"golden.toml": "relevant = 1\n" + text.replace("relevant", "# relevant")}
    (folder / name).write_text(
        changed.get(name) or text.replace("six", "ten").replace("Where", "How").replace("3", "1")
    )
    after = read(folder)
    assert digests(after) != before
    assert digests(after) == digests(replace(after))  # which has no source, so that it is computed


@pytest.mark.usefixtures("cache")
def test_a_set_that_was_changed_in_memory_is_digested(folder: Path) -> None:
    """What was read is kept, and not what somebody made of it."""
    golden = read(folder)
    before = digests(golden)
    assert digests(replace(golden, relevant=1)) == digests(replace(SET, relevant=1)) != before
    assert digests(golden.restrict({"q1"})) == digests(SET.restrict({"q1"}))


def empty(kept: Path) -> None:
    kept.write_bytes(b"")


def tear(kept: Path) -> None:
    kept.write_bytes(kept.read_bytes()[:-7])


def flip(kept: Path) -> None:
    data = bytearray(kept.read_bytes())
    data[-1] ^= 1
    kept.write_bytes(data)


def swap(kept: Path) -> None:
    """Put there what is kept of another set, with its own right checksum."""
    other = kept.parent.parent.parent / "other"
    if not other.exists():
        write(replace(SET, relevant=1), other)
        digests(read(other))
    name = kept.name.partition("-")[2]
    (others,) = (entry for entry in kept.parent.glob(f"*-{name}") if entry.name[:64] != kept.name[:64])
    shutil.copy(others, kept)


def block(kept: Path) -> None:
    kept.unlink()
    kept.mkdir()


@pytest.mark.parametrize("damage", [empty, tear, flip, swap, block])
def test_what_is_damaged_is_computed_again(cache: Path, folder: Path, damage: Callable[[Path], None]) -> None:
    """A torn, altered or exchanged file never becomes a digest, and is no error."""
    first = digests(read(folder))
    for kept in list(cache.iterdir()):
        damage(kept)
    assert digests(read(folder)) == first


def test_no_cache_and_no_place_for_it(
    cache: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turned off, nothing is written; where nothing can be, digests are computed."""
    monkeypatch.setenv("KARAT_CACHE", "off")
    assert digests(read(folder)) == digests(SET)
    assert not cache.exists()
    (tmp_path / "file").touch()
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "file"))
    assert digests(read(folder)) == digests(SET)


@pytest.mark.usefixtures("folder")
def test_only_the_newest_are_kept(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache does not grow for ever."""
    monkeypatch.setattr(_kept._KEPT, "_limit", 4)
    for number in range(3):
        write(replace(SET, description=str(number)), tmp_path / f"set{number}")
        digests(read(tmp_path / f"set{number}"))
    assert len(list(cache.iterdir())) == 4


def test_small_sets_are_not_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are digested as fast as a cache is read."""
    monkeypatch.setenv("KARAT_CACHE", str(tmp_path / "cache"))
    digests(read(folder))
    assert not (tmp_path / "cache").exists()
