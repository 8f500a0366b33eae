"""The run files of a folder by the identity in their names, without listing the folder for every lookup."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

_IDENTITY = re.compile(r"-([0-9a-f]{8})")


class RunIndex:
    """Finds run files by identity; the folder is listed again only after something else has changed it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, set[Path]] = {}
        self._changed: int | None = None

    def find(self, identity: str) -> list[Path]:
        """Return the finished runs with an identity, the last by name first."""
        if self._folder.stat().st_mtime_ns != self._changed:
            self._list()
        return sorted(self._paths.get(identity, ()), reverse=True)

    def add(self, path: Path) -> None:
        """Note a run that this process wrote."""
        for identity in _IDENTITY.findall(path.name):
            self._paths.setdefault(identity, set()).add(path)
        self._changed = self._folder.stat().st_mtime_ns

    def _list(self) -> None:
        self._changed = self._folder.stat().st_mtime_ns
        paths: dict[str, set[Path]] = defaultdict(set)
        for path in self._folder.iterdir():
            if path.name.endswith(".jsonl"):
                for identity in _IDENTITY.findall(path.name):
                    paths[identity].add(path)
        self._paths = dict(paths)
