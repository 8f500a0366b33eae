"""How CI installs karat: as chosen, as the repository requires it, or from where this karat was installed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from karat.core import UsageError
from karat.net import find_requirement, format_extras
from karat.start._repository import Repository

_VERSION = re.compile(r"[0-9][\w.!+*]*")
_NAMED = re.compile(
    r"karat(?![\w.-])\s*+(?:\[(?P<extras>[\w\s,.-]*)\])?\s*+(?P<rest>(?:@|[=<>~!]=?).*)?", re.IGNORECASE
)
_COMMENT = re.compile(r"(?:^|\s)#.*|\s--.*|(?<!\s)\s++;.*|\\$")
# A name, the egg of an address, the file of a release, or the last part of an address or a folder.
_LISTED = re.compile(
    r"^karat(?![\w.-])|[#&]egg=karat(?![\w.-])|(?:^|[/\\ ])karat-[^/\\\s]*\.(?:whl|zip|tar\.gz)"
    r"|[/\\]karat(?:\.git)?[/\\]?(?:[@#\[\s]|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """The commands that CI runs before karat."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What is left to do before they work."""


def plan_install(repository: Repository, needs: list[str], *, spec: str = "", system: bool = False) -> Install:
    """Return the commands that install karat with the pipeline's extra, or with what the retriever needs.

    ``needs`` names the files with requirements, the nearest first. karat is never installed by a mere name that nobody
    has chosen: if its source is not known, the command prints a message and fails.
    """
    extra = "" if system else "dense"
    listed = "" if spec else next((name for name in needs if _lists(repository, name)), "")
    first, notes = _install_karat(repository, needs, listed, extra, spec)
    code = [
        name
        for name in needs
        if name.endswith(".txt") or {"project", "build-system"} & repository.read_table(name).keys()
    ]
    more = [_install_code(name) for name in code[:1] if system and name != listed]
    return Install(lines=(first, *more), notes=notes)


def _install_karat(
    repository: Repository, needs: list[str], listed: str, extra: str, spec: str
) -> tuple[str, tuple[str, ...]]:
    if listed:
        return _install_from_list(repository, listed, extra)
    requirement = (
        _parse_spec(spec, extra) if spec else _find_declared(repository, needs, extra) or find_requirement(extra)
    )
    if requirement:
        return f"python -m pip install {shlex.quote(requirement)}", ()
    example = f'python -m pip install "karat{format_extras([extra])} @ git+https://..."'
    line = f"echo 'karat is not on a package index yet. Replace this line, for instance by {example}' >&2; exit 1"
    return line, (
        "karat is not on a package index yet. Pass --karat PATH_OR_URL, or edit the install line of the workflow.",
    )


def _install_code(name: str) -> str:
    folder, _, file = name.rpartition("/")
    return f"python -m pip install {shlex.quote(f'./{folder}')}" if file == "pyproject.toml" else _install_list(name)


def _install_list(name: str) -> str:
    return f"python -m pip install -r {shlex.quote(name if not name.startswith('-') else f'./{name}')}"


def _lists(repository: Repository, name: str) -> bool:
    return name.endswith(".txt") and any(_LISTED.search(line) for line in repository.read_requirements(name))


def _install_from_list(repository: Repository, name: str, extra: str) -> tuple[str, tuple[str, ...]]:
    """Return the command with which pip reads the list itself: it may hold hashes, variables, addresses and paths.

    An extra is added in the same command, so that it belongs to the karat of the list. It is in a list of its own:
    pip would look for an argument in the index first.
    """
    lines = list(repository.read_requirements(name))
    if not extra or any(_LISTED.search(line) and extra in line for line in lines):
        return _install_list(name), ()
    if any("--hash" in line for line in lines):
        return _install_list(name), (f"{name} is locked by hashes; the pipeline needs karat[{extra}] there",)
    return f"echo 'karat[{extra}]' | {_install_list(name)} -r /dev/stdin", ()


def _find_declared(repository: Repository, needs: list[str], extra: str) -> str:
    """Return the requirement of karat in a pyproject.toml, if pip understands it as it is."""
    for name in needs:
        project = repository.read_table(name)
        if "karat" in _table(_table(_table(project, "tool"), "uv"), "sources"):
            continue  # uv gets it from elsewhere than pip would
        requirement = next(filter(None, (_parse_requirement(line, extra) for line in _dependencies(project))), "")
        if requirement and requirement.isprintable() and "$" not in requirement:
            return requirement
    return ""


def _table(table: dict[str, Any], name: str) -> dict[str, Any]:
    inner = table.get(name)
    return inner if isinstance(inner, dict) else {}


def _dependencies(project: dict[str, Any]) -> Iterator[str]:
    """Yield the requirements of a pyproject.toml, from all its tables."""
    metadata = _table(project, "project")
    groups: list[object] = [metadata.get("dependencies")]
    groups += _table(metadata, "optional-dependencies").values()
    groups += _table(project, "dependency-groups").values()
    for group in groups:
        yield from (line for line in (group if isinstance(group, list) else ()) if isinstance(line, str))


def _parse_requirement(line: str, extra: str) -> str | None:
    """Return a requirement of karat with an extra; None for a requirement of anything else.

    >>> _parse_requirement("karat >= 0.2, < 1  # the gate", "dense"), _parse_requirement("karat-tools==1", "")
    ('karat[dense]>= 0.2, < 1', None)
    """
    bare = _COMMENT.sub("", line.strip()).strip()
    match = _NAMED.fullmatch(bare if "@" in bare else bare.partition(";")[0].strip())
    if not match:
        return None
    rest = match["rest"] or ""
    return f"karat{format_extras([*(match['extras'] or '').split(','), extra])}{' ' if rest[:1] == '@' else ''}{rest}"


def _parse_spec(spec: str, extra: str) -> str:
    """Return a version, a requirement, an address or a file as an argument for pip, with an extra.

    >>> _parse_spec("0.4", "dense"), _parse_spec("git+https://host/karat@v1", ""), _parse_spec("./k.whl", "dense")
    ('karat[dense]==0.4', 'karat @ git+https://host/karat@v1', './k.whl[dense]')
    """
    spec = spec.strip()
    if not spec.isprintable() or spec.startswith("-") or "${{" in spec:
        raise UsageError(f"--karat {spec!r} is not something that pip can install")
    if "${" in spec:
        raise UsageError(f"--karat {spec!r}: pip replaces variables only in a requirements.txt; write karat there")
    if _VERSION.fullmatch(spec):
        return f"karat{format_extras([extra])}=={spec}"
    requirement = _parse_requirement(spec, extra)
    if requirement:
        return requirement
    if "://" in spec:
        return f"karat{format_extras([extra])} @ {spec}"
    if "/" in spec or spec.endswith((".whl", ".tar.gz", ".zip")):
        return spec if spec.endswith("]") else f"{spec}{format_extras([extra])}"
    raise UsageError(f"--karat {spec!r}: write a version, a requirement such as karat>=1, a wheel, or git+https://...")
