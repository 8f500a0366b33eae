"""The names of saved runs: a run is found by its file, label, title or commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from karat.core import InputError, Provenance, shorten
from karat.projects.saved_runs._files import RunFile, find_runs
from karat.runs import read_header

_NAMED = 3
_SHORTEST = 4  # characters of a hash


def find_run(name: str | Path, *, golden: str | Path | None = None, say: Callable[[str], None] | None = None) -> Path:
    """Return the file of a run: ``name`` is a path, or the label, title, commit or file of a run of the project.

    The project is ``golden``, or else the current folder. If several runs have the name, it is the newest of them, and
    ``say`` is called with a note.
    """
    path, *others = find_namesakes(name, golden=golden)
    if others and say is not None:
        say(describe_namesakes(str(name), path, others))
    return path


def find_namesakes(name: str | Path, *, golden: str | Path | None = None) -> tuple[Path, ...]:
    """Return the files of all runs of a project that have a name, the newest first; a path has itself only.

    A label, a title, a commit as titles show it, the name of a file or the hash at its end comes before the beginning
    of a commit, of a file or of such a hash, and a finished run before an unfinished one. A name that no run has is an
    error.
    """
    if str(name) == "-" or os.path.lexists(name):
        return (Path(name),)
    try:
        _, files = find_runs([golden or "."])
    except InputError:  # no project, or no runs: then it can only be meant as a file
        raise InputError("no such file", source=str(name)) from None
    headers = [(file, header) for file in files if (header := read_header(file.path)) is not None]
    for is_called in (_is_named, _begins):
        matches = [file.path for file, header in headers if is_called(str(name), file, header)]
        if matches:
            finished = [path for path in matches if path.suffix != ".part"]
            return tuple(finished or matches)
    raise InputError(
        "no such file, and no run of the project has that label, title, commit or file",
        source=str(name),
        hint="'karat runs list' shows the runs of a project",
    )


def describe_namesakes(name: str, path: Path, others: list[Path] | tuple[Path, ...]) -> str:
    """Return that several runs have a name, and which one is used."""
    files = ", ".join(str(other) for other in others[:_NAMED]) + (" ..." if len(others) > _NAMED else "")
    return f"{len(others) + 1:,} runs are called {shorten(name)}: the newest is used, {path}, and not {files}"


def _is_named(name: str, file: RunFile, provenance: Provenance) -> bool:
    origin = provenance.origin
    return bool(name) and name in (origin.label, provenance.title, origin.code, file.path.name, file.identity)


def _begins(name: str, file: RunFile, provenance: Provenance) -> bool:
    is_hash = len(name) >= _SHORTEST and any(
        whole.startswith(name) for whole in (provenance.origin.commit, file.identity)
    )
    return is_hash or file.path.name.startswith(name)
