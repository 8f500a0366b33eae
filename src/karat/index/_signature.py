"""What the files of a project look like from outside, by which a change is noticed without reading any."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.part")
"""How the names of run files end."""
_DEEP = 2_000  # files of the folders of a golden set that are looked at one by one
_OTHERS = (".karat", "runs", "reports")
"""Folders of a project that hold nothing of its golden set."""
_STORE = re.compile(r"\.db($|[-.])")
"""A store of live traffic and what is beside it, which change with every query that somebody asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """When the files of a project last changed."""

    project: str
    """A digest over the configuration, the golden set, the baseline and people's labels."""
    runs: dict[str, str]
    """The stamp of each run file by its name."""


def sign_project(folder: Path, golden: Path | None = None) -> Signature:
    """Return the signature of a project; ``golden`` is the file or folder of its set, if that is elsewhere."""
    places = [folder] if golden is None or golden == folder else [folder, golden]
    digest = hashlib.sha256()
    for place in places:
        for name, stamp in _list_stamps(place):
            digest.update(f"{name}\0{stamp}\n".encode(errors="surrogateescape"))
    return Signature(project=digest.hexdigest(), runs=_list_runs(folder / "runs"))


def _list_runs(folder: Path) -> dict[str, str]:
    """Return the run files of a folder; an unfinished one changes all the time, and its stamp does not."""
    entries = _scan(folder)
    return {
        entry.name: "unfinished" if entry.name.endswith(".part") else _stamp(entry)
        for entry in entries
        if entry.name.endswith(ENDINGS)
    }


def _list_stamps(place: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a place, and those of its folders as long as they are not too many."""
    if place.is_file():
        status = place.stat()
        yield str(place), f"{status.st_mtime_ns}:{status.st_size}"
        return
    left = _DEEP
    for entry in sorted(_scan(place), key=lambda entry: entry.name):
        if entry.name in _OTHERS or entry.name.startswith(".git") or _STORE.search(entry.name):
            continue
        yield entry.name, _stamp(entry)
        if entry.is_dir(follow_symlinks=False) and left:
            inner = _scan(Path(entry.path))
            if len(inner) <= left:
                left -= len(inner)
                yield from sorted((f"{entry.name}/{file.name}", _stamp(file)) for file in inner)


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _stamp(entry: os.DirEntry[str]) -> str:
    with suppress(OSError):  # removed in this moment
        status = entry.stat()
        return f"{status.st_mtime_ns}:{status.st_size}" if entry.is_file() else f"{status.st_mtime_ns}"
    return "gone"
