"""Vectors that one test session leaves to the next are those that the model gives."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from karat.systems.embed import Granite, find_cache, with_cache
from kept_vectors import find_kept, keep, lay_out

HOTEL = Path(__file__).resolve().parents[3] / "examples" / "hotel" / "documents"


class Toy:
    """Each text has one of two directions."""

    size = 2

    def __init__(self, name: str) -> None:
        self.name = name
        self.embedded: list[str] = []

    def describe(self) -> dict[str, str]:
        return {"name": self.name}

    def __call__(self, texts: list[str], /) -> np.ndarray:
        self.embedded += texts
        return np.eye(2, dtype=np.float32)[[len(text) % 2 for text in texts]]


def test_what_an_earlier_session_embedded_is_what_the_model_gives_now() -> None:
    """The vectors in the session's cache, which may be kept ones, equal fresh ones."""
    texts = [path.read_text(encoding="utf-8")[:150] for path in sorted(HOTEL.rglob("*.md"))[:4]]
    assert len(set(texts)) == 4
    path = find_cache()
    assert path is not None
    cached = with_cache(Granite(), path)
    np.testing.assert_allclose(cached(texts), Granite()(texts), atol=1e-5)
    cached.close()


def test_a_session_begins_with_the_vectors_that_an_earlier_one_kept(tmp_path: Path) -> None:
    """Those of the model, in a file as karat makes it; a file that another worker began stays."""
    first, kept, second = (tmp_path / name for name in ("first.sqlite", "kept.sqlite", "second.sqlite"))
    for name in ("model", "other"):
        with_cache(Toy(name), first)(["one", "four"])
    keep(first, kept, "model")
    lay_out(kept, second)
    with closing(sqlite3.connect(second)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    toys = Toy("model"), Toy("other")
    vectors = [with_cache(toy, second)(["one", "four", "seven"]) for toy in toys]
    assert [toy.embedded for toy in toys] == [["seven"], ["one", "four", "seven"]]
    np.testing.assert_array_equal(*vectors)
    lay_out(kept, second)
    assert with_cache(toys[0], second)(["seven"]).shape == (1, 2)
    assert toys[0].embedded == ["seven"]


def test_a_session_keeps_only_what_is_more_than_is_kept(tmp_path: Path) -> None:
    """One that ran a few tests leaves what is kept as it is, and nothing is kept where there is no folder for it."""
    small, large, kept = (tmp_path / name for name in ("small.sqlite", "large.sqlite", "kept.sqlite"))
    with_cache(Toy("model"), small)(["one"])
    with_cache(Toy("model"), large)(["one", "four"])
    keep(small, kept, "model")
    keep(large, kept, "model")
    before = kept.read_bytes()
    keep(small, kept, "model")
    keep(tmp_path / "none.sqlite", kept, "model")
    assert kept.read_bytes() == before
    lay_out(kept, tmp_path / "next.sqlite")
    toy = Toy("model")
    with_cache(toy, tmp_path / "next.sqlite")(["one", "four"])
    assert toy.embedded == []
    keep(large, tmp_path / "nowhere" / "kept.sqlite", "model")
    assert not (tmp_path / "nowhere").exists()


def test_vectors_stay_beside_the_packages(tmp_path: Path) -> None:
    """Those that clones share, or else those of the environment itself."""
    assert find_kept(tmp_path).parent == tmp_path
    (tmp_path / "packages").mkdir()
    (tmp_path / ".shared").symlink_to(tmp_path / "packages")
    assert find_kept(tmp_path).resolve().parent == tmp_path / "packages"
