"""What a repository tells of itself: where it begins, where changes are merged, how it installs karat."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import karat
from karat.core import InputError, UsageError, decode, read_bytes

_USUAL = ("main", "master")
_VERSION = re.compile(r"[0-9][\w.!+*]*")
_NAMED = re.compile(r"karat(?![\w.-])\s*(?:\[(?P<extras>[\w\s,.-]*)\])?\s*(?P<rest>(?:@|[=<>~!]=?).*)?", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*|\s--.*|\s+;.*|\\$")


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

    def needs(self) -> list[str]:
        """Name the files that say what the code needs."""
        return [name for name in ("requirements.txt", "pyproject.toml") if (self.root / name).is_file()]

    def install(self, extra: str = "", *, spec: str = "") -> str:
        """Give what pip has to install to have karat: ``spec``, else what the repository says, else this version."""
        if spec:
            return _requirement(spec, extra)
        found = next(filter(None, (_named(line, extra) for line in self._requirements())), None)
        return found or _requirement(karat.__version__, extra)

    def _requirements(self) -> Iterator[str]:
        """Give the requirements that are written down, line by line; a file that cannot be read says nothing."""
        for name in self.needs():
            try:
                text = decode(read_bytes(self.root / name), name)
                yield from text.splitlines() if name.endswith(".txt") else _declared(tomllib.loads(text))
            except (InputError, tomllib.TOMLDecodeError):  # whoever it belongs to will tell
                continue

    def _git(self, *arguments: str) -> str:
        """Ask git; nothing where it is not installed, or knows nothing."""
        command = ["git", f"--git-dir={self.root / '.git'}", *arguments]  # no other, whatever a hook's variables say
        try:
            asked = subprocess.run(command, capture_output=True, timeout=10, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return asked.stdout.decode(errors="replace").strip() if asked.returncode == 0 else ""


def _declared(project: dict[str, object]) -> Iterator[str]:
    """Give the requirements of a pyproject.toml, in whichever table they stand."""
    table = project.get("project")
    described = table if isinstance(table, dict) else {}
    groups: list[object] = [described.get("dependencies")]
    for many in (described.get("optional-dependencies"), project.get("dependency-groups")):
        groups += many.values() if isinstance(many, dict) else ()
    for group in groups:
        yield from (one for one in (group if isinstance(group, list) else ()) if isinstance(one, str))


def _named(line: str, extra: str) -> str | None:
    """Give a requirement of karat with an extra; None for one of anything else.

    >>> _named("karat >= 0.2, < 1  # the gate", "dense"), _named("karat-tools==1", "")
    ('karat[dense]>= 0.2, < 1', None)
    """
    bare = _COMMENT.sub("", line.strip()).strip()
    found = _NAMED.fullmatch(bare if "@" in bare else bare.partition(";")[0].strip())
    if not found:
        return None
    rest = found["rest"] or ""
    return f"karat{_extras((found['extras'] or '').split(','), extra)}{' ' if rest[:1] == '@' else ''}{rest}"


def _extras(known: Iterable[str], extra: str) -> str:
    all_ = dict.fromkeys(name.strip() for name in (*known, extra) if name.strip())
    return f"[{','.join(all_)}]" if all_ else ""


def _requirement(spec: str, extra: str) -> str:
    """Give a version, a requirement, an address or a file as pip takes it, with an extra.

    >>> _requirement("0.4", "dense"), _requirement("git+https://host/karat@v1", ""), _requirement("./k.whl", "dense")
    ('karat[dense]==0.4', 'karat @ git+https://host/karat@v1', './k.whl[dense]')
    """
    spec = spec.strip()
    if not spec.isprintable() or spec.startswith("-") or "${{" in spec:
        raise UsageError(f"--karat {spec!r} is nothing that pip installs")
    if _VERSION.fullmatch(spec):
        return f"karat{_extras((), extra)}=={spec}"
    named = _named(spec, extra)
    if named:
        return named
    if "://" in spec:
        return f"karat{_extras((), extra)} @ {spec}"
    if "/" in spec or spec.endswith((".whl", ".tar.gz", ".zip")):
        return spec if spec.endswith("]") else f"{spec}{_extras((), extra)}"
    raise UsageError(f"--karat {spec!r}: write a version, a requirement such as karat>=1, a wheel, or git+https://...")
