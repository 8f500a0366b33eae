"""How CI gets karat: as it was told, as the repository requires it, or from where this karat came."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from karat.core import UsageError
from karat.start._repository import Repository

_VERSION = re.compile(r"[0-9][\w.!+*]*")
_NAMED = re.compile(r"karat(?![\w.-])\s*(?:\[(?P<extras>[\w\s,.-]*)\])?\s*(?P<rest>(?:@|[=<>~!]=?).*)?", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*|\s--.*|\s+;.*|\\$")
# A name, the egg of an address, a file of a release, and the last part of an address or a folder.
_LISTED = re.compile(
    r"^karat(?![\w.-])|[#&]egg=karat(?![\w.-])|(?:^|[/\\ ])karat-[^/\\\s]*\.(?:whl|zip|tar\.gz)"
    r"|[/\\]karat(?:\.git)?[/\\]?(?:[@#\[\s]|$)",
    re.IGNORECASE,
)
_REMOTE = ("https://", "http://", "ssh://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """What CI runs before karat."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What is left to do before that works."""


def installing(repository: Repository, needs: list[str], *, spec: str = "", system: bool = False) -> Install:
    """Give the commands that install karat, with what the pipeline needs, or else what the retriever does.

    ``needs`` names the files that say what the code needs, the nearest first. Nothing is ever installed by a name that
    nobody has chosen: where it cannot be known what karat is here, the command says so and fails.
    """
    extra = "" if system else "dense"
    listed = "" if spec else next((name for name in needs if _lists(repository, name)), "")
    first, notes = _karat(repository, needs, listed, extra, spec)
    code = [
        name for name in needs if name.endswith(".txt") or {"project", "build-system"} & repository.table(name).keys()
    ]
    more = [_needed(name) for name in code[:1] if system and name != listed]
    return Install(lines=(first, *more), notes=notes)


def _karat(repository: Repository, needs: list[str], listed: str, extra: str, spec: str) -> tuple[str, tuple[str, ...]]:
    if listed:
        return _from_list(repository, listed, extra)
    found = _requirement(spec, extra) if spec else _declared(repository, needs, extra) or origin(extra)
    if found:
        return f"python -m pip install {shlex.quote(found)}", ()
    example = f'python -m pip install "karat{_extras((), extra)} @ git+https://..."'
    line = f"echo 'Write here where karat comes from, such as {example}' >&2; exit 1"
    return line, (
        "CI cannot install karat yet: say where it comes from in the file of CI, or remove that and give --karat",
    )


def _needed(name: str) -> str:
    folder, _, file = name.rpartition("/")
    return f"python -m pip install {shlex.quote(f'./{folder}')}" if file == "pyproject.toml" else _reading(name)


def _reading(name: str) -> str:
    return f"python -m pip install -r {shlex.quote(name if not name.startswith('-') else f'./{name}')}"


def _lists(repository: Repository, name: str) -> bool:
    return name.endswith(".txt") and any(_LISTED.search(line) for line in repository.lines(name))


def _from_list(repository: Repository, name: str, extra: str) -> tuple[str, tuple[str, ...]]:
    """Let pip read the list itself: it may hold hashes, variables, addresses and paths.

    An extra is added in the same breath, so that it is one of the karat in the list and of no other. It stands in
    a list of its own: what is given as an argument comes first, and would be looked for in the index.
    """
    lines = list(repository.lines(name))
    if not extra or any(_LISTED.search(line) and extra in line for line in lines):
        return _reading(name), ()
    if any("--hash" in line for line in lines):
        return _reading(name), (f"{name} is locked by hashes; the pipeline needs karat[{extra}] there",)
    return f"echo 'karat[{extra}]' | {_reading(name)} -r /dev/stdin", ()


def _declared(repository: Repository, needs: list[str], extra: str) -> str:
    """Give what a pyproject.toml requires of karat, if pip understands it as it stands."""
    for name in needs:
        project = repository.table(name)
        if "karat" in _table(_table(_table(project, "tool"), "uv"), "sources"):
            continue  # uv has it from elsewhere than pip would
        found = next(filter(None, (_named(line, extra) for line in _dependencies(project))), "")
        if found and found.isprintable() and "$" not in found:
            return found
    return ""


def _table(table: dict[str, Any], name: str) -> dict[str, Any]:
    found = table.get(name)
    return found if isinstance(found, dict) else {}


def _dependencies(project: dict[str, Any]) -> Iterator[str]:
    """Give the requirements of a pyproject.toml, in whichever table they stand."""
    described = _table(project, "project")
    groups: list[object] = [described.get("dependencies")]
    groups += _table(described, "optional-dependencies").values()
    groups += _table(project, "dependency-groups").values()
    for group in groups:
        yield from (one for one in (group if isinstance(group, list) else ()) if isinstance(one, str))


def origin(extra: str = "") -> str:
    """Give the requirement by which pip gets the karat that runs here; empty where CI has no way to it.

    pip and others write down from where a package came, unless it came from an index.
    """
    try:
        package = distribution("karat")
    except PackageNotFoundError:
        return ""
    told = package.read_text("direct_url.json")
    if told is None:
        return f"karat{_extras((), extra)}=={package.version}" if package.read_text("INSTALLER") else ""
    try:
        address = _address(json.loads(told))
    except (ValueError, AttributeError, KeyError, TypeError):  # whoever wrote it, it tells nothing
        return ""
    usable = address.isprintable() and not re.search(r"[\s$]", address)
    return f"karat{_extras((), extra)} @ {address}" if address and usable else ""


def _address(told: dict[str, Any]) -> str:
    """Give the address of a package, with the commit that was taken; empty for what lies on this computer."""
    if not told["url"].startswith(_REMOTE):
        return ""
    url, version = told["url"], told.get("vcs_info")
    within = f"#subdirectory={told['subdirectory']}" if told.get("subdirectory") else ""
    if version:
        return f"{version['vcs']}+{url}@{version['commit_id']}{within}"
    return f"{url}{within}" if told.get("archive_info") is not None else ""


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
    if "${" in spec:
        raise UsageError(f"--karat {spec!r}: pip knows variables in a requirements.txt only; write karat there")
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
