"""The git commit of a folder, read without trusting the repository.

Commit and branch are read from git's own files. Whether files differ from the commit is asked of git, in a process
that does not see the repository's configuration: git runs programs that a configuration names, such as those of
``core.fsmonitor`` and ``filter.NAME.clean``, and a cloned folder may hold one that a stranger wrote.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from karat.core import InputError
from karat.files import open_file

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\\\[]+")
_MOST = 10_000_000  # bytes of a file that is read; packed-refs of a large repository has a few megabytes
_SECONDS = 5.0
_CONFIG = """\
[core]
    repositoryformatversion = 1
    bare = false
    fsmonitor = false
    hooksPath = {nowhere}
[extensions]
    objectFormat = {format}
"""


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
        repository = _find_repository(folder.resolve())
        if repository is None:
            return Checkout()
        tree, own, shared = repository
        branch, commit = _read_head(own, shared)
    except (OSError, ValueError, RuntimeError, InputError):
        return Checkout()
    try:
        dirty = _is_dirty(tree, own, shared, commit) if commit else None
    except (OSError, ValueError, subprocess.SubprocessError):
        dirty = None
    return Checkout(commit=commit, branch=branch, dirty=dirty)


def _find_repository(folder: Path) -> tuple[Path, Path, Path] | None:
    """Return the working tree, its own git folder, and the one that it shares with other working trees."""
    for tree in (folder, *folder.parents):
        entry = tree / ".git"
        if entry.is_file():  # a worktree or a submodule
            text = _read(entry).strip()
            if not text.startswith("gitdir: "):
                return None
            own = (tree / text.removeprefix("gitdir: ")).resolve()
        elif (entry / "HEAD").is_file():
            own = entry
        else:
            continue
        common = own / "commondir"
        return tree, own, (own / _read(common).strip()).resolve() if common.is_file() else own
    return None


def _read(path: Path) -> str:
    with open_file(path) as file:
        return file.read(_MOST).decode("utf-8", "replace")


def _read_head(own: Path, shared: Path) -> tuple[str, str]:
    """Return the branch, "" if HEAD is detached, and the commit, "" before the first one."""
    head = _read(own / "HEAD").strip()
    if not head.startswith("ref: "):
        return "", head if _HASH.fullmatch(head) else ""
    ref = head.removeprefix("ref: ").strip()
    if not _REF.fullmatch(ref) or ".." in ref:
        return "", ""
    for folder in (own, shared):
        if (folder / ref).is_file():
            commit = _read(folder / ref).strip()
            break
    else:
        packed = _read(shared / "packed-refs") if (shared / "packed-refs").is_file() else ""
        pairs = (line.split(" ", 1) for line in packed.splitlines() if " " in line)
        commit = next((commit for commit, name in pairs if name.strip() == ref), "")
    return ref.removeprefix("refs/heads/"), commit if _HASH.fullmatch(commit) else ""


def _is_dirty(tree: Path, own: Path, shared: Path, commit: str) -> bool | None:
    """Return whether tracked files differ from the commit; None without git, or if it does not answer in time."""
    program = shutil.which("git")
    if program is None or Path(program).resolve().is_relative_to(tree):
        return None
    # A git folder of our own, with the index and the objects of the repository but not its configuration.
    with tempfile.TemporaryDirectory(prefix="karat-git-") as name:
        folder = Path(name)
        for inner in ("refs", "objects", "nowhere"):
            (folder / inner).mkdir()
        (folder / "HEAD").write_text(f"{commit}\n")
        text = _CONFIG.format(nowhere=(folder / "nowhere").as_posix(), format="sha1" if len(commit) == 40 else "sha256")
        (folder / "config").write_text(text)
        variables = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        variables |= {
            "GIT_DIR": name,
            "GIT_WORK_TREE": str(tree),
            "GIT_INDEX_FILE": str(own / "index"),
            "GIT_OBJECT_DIRECTORY": str(shared / "objects"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "HOME": name,
            "XDG_CONFIG_HOME": name,
        }
        process = subprocess.run(  # noqa: S603 (a fixed command, and no shell)
            [program, "--no-pager", "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"],
            cwd=tree,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    return bool(process.stdout.strip()) if process.returncode == 0 else None
