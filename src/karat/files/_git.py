"""Git repositories, read without trusting them.

Refs are read from git's own files. What only git can tell is asked of it in a process that does not see the
repository's configuration: git runs programs that a configuration names, such as those of ``core.fsmonitor`` and
``filter.NAME.smudge``, and a cloned folder may hold one that a stranger wrote.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from karat.files._opening import open_file

_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\\\[]+")
_MOST = 10_000_000  # bytes of a file that is read; packed-refs of a large repository has a few megabytes
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
class GitRepository:
    """A repository. Its methods raise OSError, ValueError or InputError where its files cannot be read."""

    tree: Path
    """The working tree."""
    own: Path
    """The git folder of the working tree."""
    shared: Path
    """The git folder that it shares with other working trees."""

    @classmethod
    def find(cls, folder: Path) -> GitRepository | None:
        """Return the repository that a folder is in, or None."""
        start = folder.resolve()
        for tree in (start, *start.parents):
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
            shared = (own / _read(common).strip()).resolve() if common.is_file() else own
            return cls(tree=tree, own=own, shared=shared)
        return None

    def read_head(self) -> tuple[str, str]:
        """Return the branch, "" if HEAD is detached, and the commit, "" before the first one."""
        head = _read(self.own / "HEAD").strip()
        if not head.startswith("ref: "):
            return "", head if _HASH.fullmatch(head) else ""
        ref = head.removeprefix("ref: ").strip()
        if not _REF.fullmatch(ref) or ".." in ref:
            return "", ""
        for folder in (self.own, self.shared):
            if (folder / ref).is_file():
                commit = _read(folder / ref).strip()
                break
        else:
            commit = self._read_packed().get(ref, "")
        return ref.removeprefix("refs/heads/"), commit if _HASH.fullmatch(commit) else ""

    def read_tags(self) -> dict[str, str]:
        """Return the hash of each tag, which is that of a commit or of an annotation."""
        packed = self._read_packed()
        tags = {ref.removeprefix("refs/tags/"): value for ref, value in packed.items() if ref.startswith("refs/tags/")}
        folder = self.shared / "refs" / "tags"
        loose = {file.relative_to(folder).as_posix(): _read(file) for file in folder.rglob("*") if file.is_file()}
        tags |= {name: text.strip() for name, text in loose.items()}
        return {name: value for name, value in tags.items() if _HASH.fullmatch(value)}

    def _read_packed(self) -> dict[str, str]:
        file = self.shared / "packed-refs"
        text = _read(file) if file.is_file() else ""
        pairs = (line.split(" ", 1) for line in text.splitlines() if " " in line)
        return {name.strip(): value for value, name in pairs}

    def find_program(self) -> str | None:
        """Return the path of git, or None if it is not installed, or lies in the repository itself."""
        program = shutil.which("git")
        return None if program is None or Path(program).resolve().is_relative_to(self.tree) else program

    @contextmanager
    def isolate(self, commit: str) -> Iterator[Mapping[str, str]]:
        """Make a git folder with the index and the objects of the repository, but not its configuration.

        Yield the variables with which git uses that folder, and nobody's configuration.
        """
        with tempfile.TemporaryDirectory(prefix="karat-git-") as name:
            folder = Path(name)
            for inner in ("refs", "objects", "nowhere"):
                (folder / inner).mkdir()
            (folder / "HEAD").write_text(f"{commit}\n")
            hashes = "sha1" if len(commit) == 40 else "sha256"
            (folder / "config").write_text(_CONFIG.format(nowhere=(folder / "nowhere").as_posix(), format=hashes))
            variables = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
            yield variables | {
                "GIT_DIR": name,
                "GIT_WORK_TREE": str(self.tree),
                "GIT_INDEX_FILE": str(self.own / "index"),
                "GIT_OBJECT_DIRECTORY": str(self.shared / "objects"),
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_ATTR_NOSYSTEM": "1",
                "GIT_OPTIONAL_LOCKS": "0",
                "GIT_TERMINAL_PROMPT": "0",
                "HOME": name,
                "XDG_CONFIG_HOME": name,
            }


def _read(path: Path) -> str:
    with open_file(path) as file:
        return file.read(_MOST).decode("utf-8", "replace")
