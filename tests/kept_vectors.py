"""Vectors of the built-in model that outlive a test session.

To embed the texts of the hotel takes half a minute of CPU time. Their vectors stay beside the packages that all clones
share (``scripts/setup``), which have a folder for each lock file, or in a .venv that has its own packages, under a name
that changes with the code that embeds.
``tests/systems/embed/test_kept_vectors.py`` embeds some of the texts again in every session.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODEL = ("_embedder", "_forward", "_granite", "_onnx", "_pack", "_protobuf", "_workers")
"""The modules of ``karat.systems.embed`` that decide what the built-in model's vectors are."""


def find_kept(environment: Path = ROOT / ".venv") -> Path:
    """Return where the vectors of this code are, or would be, kept."""
    shared = environment / ".shared"
    digest = hashlib.sha256()
    for name in MODEL:
        digest.update((ROOT / "src" / "karat" / "systems" / "embed" / f"{name}.py").read_bytes())
    return (shared if shared.is_dir() else environment) / f"vectors-{digest.hexdigest()[:16]}.sqlite"


def lay_out(kept: Path, cache: Path) -> None:
    """Begin the cache of a session with the vectors that are kept, if there are any, and no other worker did."""
    if not kept.exists() or cache.exists():
        return
    cache.parent.mkdir(parents=True, exist_ok=True)
    aside = cache.with_name(f"{cache.name}.{os.getpid()}")
    aside.write_bytes(kept.read_bytes())
    with closing(sqlite3.connect(aside)) as database:
        database.execute("PRAGMA journal_mode = WAL")  # as karat has it; one from memory has none
    with suppress(FileExistsError):
        os.link(aside, cache)
    aside.unlink()


def keep(cache: Path, kept: Path, model: str) -> None:
    """Keep the vectors that a session made with a model, if there are more than are kept.

    Questions are left out, which the cache holds with the time that they took: each session measures its own.
    """
    if not kept.parent.is_dir() or not cache.exists():
        return
    with closing(sqlite3.connect(":memory:")) as copy:
        with closing(sqlite3.connect(cache)) as database:
            database.backup(copy)
        copy.execute("DELETE FROM vectors WHERE embedder != ?", [model])
        copy.commit()
        if _count(copy) <= _count_kept(kept):
            return
        copy.execute("VACUUM")
        data = copy.serialize()
    aside = kept.with_name(f"{kept.name}.{os.getpid()}")
    aside.write_bytes(data)
    aside.replace(kept)


def _count_kept(kept: Path) -> int:
    if not kept.exists():
        return 0
    with closing(sqlite3.connect(":memory:")) as copy:
        copy.deserialize(kept.read_bytes())
        return _count(copy)


def _count(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])
