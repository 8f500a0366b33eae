"""A repository: its root, the branch into which changes are merged, and its requirements."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import InputError
from karat.files import decode, parse_toml, read_bytes

_USUAL = ("main", "master")
_REMARK = re.compile(r"(?:^|\s)#.*")
_REFERENCE = re.compile(r"(?:-r|--requirement)[\s=]*+(\S+)")


@dataclass(frozen=True, slots=True)
class Repository:
    """The folder that contains .git, or that would."""

    root: Path

    @classmethod
    def find(cls, folder: Path) -> Repository:
        """Return the nearest repository around a folder, or the folder itself if there is none."""
        here = folder.resolve()
        return cls(next((root for root in (here, *here.parents) if os.path.lexists(root / ".git")), here))

    def relative(self, path: Path) -> str | None:
        """Return a path from the root, as git writes it; None if it is outside."""
        resolved = path.resolve()
        return resolved.relative_to(self.root).as_posix() if resolved.is_relative_to(self.root) else None

    def find_branch(self) -> str:
        """Return the branch into which changes are merged, or ``main`` if that is not known.

        It is the remote's default, or else main or master if it exists, or else the one that is checked out.
        """
        remote = self._git("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        if remote:
            return remote.removeprefix("refs/remotes/origin/")
        branches = self._git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").splitlines()
        current = self._git("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
        return next((name for name in _USUAL if name in branches), current or _USUAL[0])

    def find_requirements(self, folder: Path) -> list[str]:
        """Return the files with requirements of a folder's code: its own first, then those of the repository."""
        folders = (folder.resolve(), self.root)
        files = (place / name for place in folders for name in ("requirements.txt", "pyproject.toml"))
        names = (self.relative(path) for path in files if path.is_file() and _has_requirements(path))
        return list(dict.fromkeys(name for name in names if name is not None))

    def read_requirements(self, name: str) -> Iterator[str]:
        """Yield the lines of a requirements.txt, without comments, and those of the lists that it refers to.

        Each list is read once, even if lists refer to each other.
        """
        names, seen = [name], {name}
        for place in names:  # which grows
            for line in _text(self.root / place).splitlines():
                bare = _REMARK.sub("", line).strip()
                yield bare
                other = _REFERENCE.fullmatch(bare)
                path = self.relative((self.root / place).parent / other[1]) if other else None
                if path and path not in seen:
                    names.append(path)
                    seen.add(path)

    def read_table(self, name: str) -> dict[str, Any]:
        """Return the contents of a TOML file; empty if it is something else, or cannot be read."""
        return _table(self.root / name)

    def _git(self, *arguments: str) -> str:
        """Return the output of a git command; empty if it fails, or if git is not installed."""
        command = [
            "git",
            f"--git-dir={self.root / '.git'}",
            *arguments,
        ]  # not another repository, which a hook's variables may name
        try:
            result = subprocess.run(command, capture_output=True, timeout=10, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return result.stdout.decode(errors="replace").strip() if result.returncode == 0 else ""


def _has_requirements(path: Path) -> bool:
    """Return whether a file has requirements: many a pyproject.toml only configures tools."""
    return path.suffix == ".txt" or bool({"project", "build-system", "dependency-groups"} & _table(path).keys())


def _text(path: Path) -> str:
    try:
        return decode(read_bytes(path), str(path)) if path.is_file() else ""
    except (InputError, OSError):  # such as a name that is too long; whoever uses the file reports it
        return ""


def _table(path: Path) -> dict[str, Any]:
    try:
        return parse_toml(_text(path), str(path)) if path.suffix == ".toml" else {}
    except InputError:  # reported elsewhere, too
        return {}
