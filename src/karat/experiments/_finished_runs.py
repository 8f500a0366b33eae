"""Which runs a sweep has finished, remembered until their results are in the log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from karat.core import InputError
from karat.files import append_file, decode, read_bytes


class FinishedRuns:
    """The names of the runs that a sweep has finished, in a file of one name a line that survives a crash."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names = set(_read(path)) if path.exists() else set()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        """Remember a run."""
        if name in self._names:
            return
        self._names.add(name)
        # The line break in front ends a line that a crash has cut off.
        append_file(self.path, f"\n{json.dumps(name)}\n".encode())

    def forget(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)


def _read(path: Path) -> list[str]:
    """Return the names in a file; lines that cannot be read are left out, and their runs are asked again."""
    try:
        lines = decode(read_bytes(path), str(path)).splitlines()
    except InputError:
        return []
    names: list[str] = []
    for line in lines:
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        # An earlier version of karat wrote one list.
        names += [name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)]
    return names
