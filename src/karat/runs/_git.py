"""The git commit of a folder, read without trusting the repository."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from karat.core import InputError
from karat.files import GitRepository

_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """What is checked out in a folder."""

    commit: str = ""
    branch: str = ""
    """Empty if no branch is checked out."""
    dirty: bool | None = None
    """Whether tracked files differ from the commit; None if that is not known."""


def read_checkout(folder: Path) -> Checkout:
    """Return commit and branch of the repository that a folder is in; nothing is an error, and all may be unknown."""
    try:
        repository = GitRepository.find(folder)
        if repository is None:
            return Checkout()
        branch, commit = repository.read_head()
    except (OSError, ValueError, RuntimeError, InputError):
        return Checkout()
    try:
        dirty = _is_dirty(repository, commit) if commit else None
    except (OSError, ValueError, subprocess.SubprocessError):
        dirty = None
    return Checkout(commit=commit, branch=branch, dirty=dirty)


def _is_dirty(repository: GitRepository, commit: str) -> bool | None:
    """Return whether tracked files differ from the commit; None without git, or if it does not answer in time."""
    program = repository.find_program()
    if program is None:
        return None
    with repository.isolate(commit) as variables:
        process = subprocess.run(  # noqa: S603 (a fixed command, and no shell)
            [program, "--no-pager", "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"],
            cwd=repository.tree,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    return bool(process.stdout.strip()) if process.returncode == 0 else None
