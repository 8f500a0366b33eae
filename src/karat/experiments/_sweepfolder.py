"""The sweep files of a project."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from karat.core import InputError
from karat.files import read_toml

FOLDER = "sweeps"
"""The folder of a project in which sweep files may be kept, beside karat.toml itself."""
_MOST = 100  # files that are looked at
_LARGEST = 256 * 1024  # bytes of a file that is looked at


def find_sweeps(folder: str | Path) -> tuple[str, ...]:
    """Return the sweep files of a project, in its folder and in ``sweeps``, as paths that begin there.

    A file that is no TOML, or has neither a grid nor variants, is none; one with another mistake is.
    """
    place = Path(folder)
    return tuple(name for name in sorted(_list_files(place))[:_MOST] if _is_sweep(place / name))


def _list_files(folder: Path) -> Iterator[str]:
    for prefix in ("", f"{FOLDER}/"):
        with suppress(OSError), os.scandir(folder / prefix) as entries:
            for entry in entries:
                is_small = entry.is_file(follow_symlinks=False) and entry.stat().st_size <= _LARGEST
                if entry.name.endswith(".toml") and not entry.name.startswith(("-", ".")) and is_small:
                    yield f"{prefix}{entry.name}"


def _is_sweep(path: Path) -> bool:
    try:
        table = read_toml(path)
    except InputError:
        return False
    return "grid" in table or isinstance(table.get("variant"), list)
