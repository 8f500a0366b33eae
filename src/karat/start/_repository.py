"""What a repository tells of itself: where it begins, where changes are merged, how it installs karat."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError
from karat.files import decode, read_bytes

_USUAL = ("main", "master")


@dataclass(frozen=True, slots=True)
class Repository:
    """The folder that has .git, or that would have it."""

    root: Path

    @classmethod
    def around(cls, folder: Path) -> Repository:
        """Find the nearest repository; a folder that lies in none is one by itself."""
        here = folder.resolve()
        return cls(next((one for one in (here, *here.parents) if os.path.lexists(one / ".git")), here))

    def path_of(self, path: Path) -> str | None:
        """Give the path of something from the root, as git writes it; None if it lies outside."""
        found = path.resolve()
        return found.relative_to(self.root).as_posix() if found.is_relative_to(self.root) else None

    def branch(self) -> str:
        """Give the branch into which changes are merged; ``main`` where nobody knows.

        The one that the remote says, else main or master where there is one, else the one that is checked out.
        """
        remote = self._git("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        if remote:
            return remote.removeprefix("refs/remotes/origin/")
        there = self._git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines()
        current = self._git("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
        return next((name for name in _USUAL if name in there), current or _USUAL[0])

    def needs(self, folder: Path) -> list[str]:
        """Name the files that say what the code of a folder needs: its own first, then those of the repository."""
        found = (one / name for one in (folder.resolve(), self.root) for name in ("requirements.txt", "pyproject.toml"))
        named = (self.path_of(path) for path in found if path.is_file() and _says(path))
        return list(dict.fromkeys(name for name in named if name is not None))

    def lines(self, name: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
        """Give the lines of a requirements.txt, without comments, and those of the lists that it refers to."""
        for line in _text(self.root / name).splitlines():
            bare = re.sub(r"(?:^|\s)#.*", "", line).strip()
            yield bare
            other = re.fullmatch(r"(?:-r|--requirement)[\s=]*(\S+)", bare)
            path = self.path_of((self.root / name).parent / other[1]) if other else None
            if path and path not in seen:
                yield from self.lines(path, seen | {name, path})

    def table(self, name: str) -> dict[str, Any]:
        """Give what a TOML file holds; one that cannot be read, or is none, holds nothing."""
        return _table(self.root / name)

    def _git(self, *arguments: str) -> str:
        """Ask git; nothing where it is not installed, or knows nothing."""
        command = ["git", f"--git-dir={self.root / '.git'}", *arguments]  # no other, whatever a hook's variables say
        try:
            asked = subprocess.run(command, capture_output=True, timeout=10, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return asked.stdout.decode(errors="replace").strip() if asked.returncode == 0 else ""


def _says(path: Path) -> bool:
    """Say whether a file tells what to install: many a pyproject.toml only configures tools."""
    return path.suffix == ".txt" or bool({"project", "build-system", "dependency-groups"} & _table(path).keys())


def _text(path: Path) -> str:
    try:
        return decode(read_bytes(path), str(path)) if path.is_file() else ""
    except InputError:  # whoever it belongs to will tell
        return ""


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path)) if path.suffix == ".toml" else {}
    except tomllib.TOMLDecodeError:  # the same
        return {}
