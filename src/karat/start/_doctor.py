"""Looking at an installation: what is there, what is missing for what, and where files lie. Nothing is sent."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.config import Config, read_config
from karat.core import InputError, KaratError, __version__
from karat.files import find_cache_folder
from karat.net import find_version, format_pip_line
from karat.schema.installation import InstallationReport, InstalledExtra, InstalledPackage, InstalledPlace
from karat.start._extras import EXTRAS, OLDEST_PYTHON, REQUIRED
from karat.systems import Stages
from karat.systems.adapters import ADAPTERS

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?(?P<asked>.*)")
_CLAUSE = re.compile(r"(==|>=|<)([\d.]+)")
_FILES = (
    ("runs", "runs", "runs that karat eval and karat check saved"),
    ("reports", "reports", "reports of karat check and karat report"),
    ("baseline", "baseline.json", "the scores of the accepted run"),
    ("experiments", "experiments.json", "what karat sweep tried"),
    ("labels", "labels", "queues and labels of karat label"),
    ("kept", ".karat", "chunks, indexes, replies of models, tokens; karat can make all of these again, except tokens"),
    ("store", "karat.db", "the log of live queries"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Project:
    """The project that was looked at, what it needs, and what is wrong with it."""

    folder: Path
    config: Config | None = None
    extras: tuple[str, ...] = ()
    problem: str = ""


def examine_installation(folder: str | Path = ".") -> InstallationReport:
    """Return what is installed, what is missing for what, and where files lie.

    A folder that is no project is no mistake: then nothing is said of a project.

    >>> examine_installation("examples").project
    ''
    """
    if not Path(folder).is_dir():
        raise InputError("no such folder", source=str(folder))
    project = _look_at_project(Path(folder).resolve())
    packages = tuple(map(_find_package, REQUIRED))
    needed = project.extras if project else ()
    extras = tuple(_find_extra(name, needed=name in needed) for name in EXTRAS)
    places = tuple(_list_places(project))
    problems = tuple(_list_problems(packages, extras, places, project))
    return InstallationReport(
        karat=__version__,
        code=str(Path(__file__).parents[1]),
        python=platform.python_version(),
        executable=sys.executable,
        platform=platform.platform(),
        ready=not problems,
        project=str(project.folder) if project else "",
        packages=packages,
        extras=extras,
        places=places,
        problems=problems,
        notes=tuple(_list_notes(project)),
    )


def _look_at_project(folder: Path) -> _Project | None:
    """Return the project in a folder, or None if the folder is none."""
    try:
        config = read_config(folder)
        if config.golden == folder and not any((folder / name).is_file() for name in ("karat.toml", "golden.toml")):
            return None
        return _Project(folder=folder, config=config, extras=tuple(_list_needed(config)))
    except KaratError as error:
        return _Project(folder=folder, problem=str(error))


def _list_needed(config: Config) -> Iterator[str]:
    """Return the extras without which the system of a project, or its telemetry, cannot work."""
    if config.telemetry.endpoint:
        yield "otel"
    if config.system:
        if extra := ADAPTERS.get(str(config.system.get("kind", "http"))).extra:
            yield extra
    elif not config.eval.system:
        stages = Stages.from_table(config.pipeline)
        if stages.dense:
            yield from _list_embedding(stages.embedder)


def _list_embedding(embedder: str | Mapping[str, Any]) -> Iterator[str]:
    options = {"kind": embedder.partition(":")[0]} if isinstance(embedder, str) else embedder
    kind = options.get("kind", "granite")
    if kind == "granite":
        yield "onnx" if options.get("runtime") == "onnx" else "dense"
    elif kind == "sentence-transformers":
        yield "sentence-transformers"


def _find_package(requirement: str) -> InstalledPackage:
    match = _REQUIREMENT.fullmatch(requirement)
    assert match is not None
    version = find_version(match["name"])
    ready = bool(version) and _allows(match["asked"], version)
    return InstalledPackage(name=match["name"], asked=match["asked"], version=version or None, ready=ready)


def _allows(specifier: str, version: str) -> bool:
    """Return whether a version is among those asked for, by its numbers alone.

    >>> _allows(">=2.0,<3", "2.10.1"), _allows(">=2.0,<3", "3.0"), _allows("==0.1.0", "0.1"), _allows("", "7")
    (True, False, True, True)
    """
    there = _numbers(version)
    signs = {"==": lambda a, b: a == b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b}
    return all(signs[sign](there, _numbers(limit)) for sign, limit in _CLAUSE.findall(specifier))


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version, up to what is no number, without zeros at their end."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in match[0].split(".")] if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _find_extra(name: str, *, needed: bool) -> InstalledExtra:
    packages = tuple(map(_find_package, EXTRAS[name].packages))
    ready = all(package.ready for package in packages)
    return InstalledExtra(
        name=name,
        purpose=EXTRAS[name].purpose,
        ready=ready,
        needed=needed,
        packages=packages,
        install="" if ready else format_pip_line(name),
    )


def _list_places(project: _Project | None) -> Iterator[InstalledPlace]:
    note = "vectors and other results that all projects share; KARAT_CACHE names another folder, or off"
    try:
        cache = find_cache_folder()
    except RuntimeError:  # no home folder
        cache = None
    yield _find_place("cache", cache, note)
    if project is None:
        return
    if project.config is not None:
        names = [name for name in ("karat.toml", "pyproject.toml") if (project.folder / name).is_file()]
        yield _find_place("configuration", project.folder / (names or ["karat.toml"])[0], "karat.toml, or [tool.karat]")
        yield _find_place("golden set", project.config.golden, "queries and judgments")
        if project.config.documents is not None:
            yield _find_place("documents", project.config.documents, "what is searched")
    for name, file, purpose in _FILES:
        yield _find_place(name, project.folder / file, purpose)


def _find_place(name: str, path: Path | None, note: str) -> InstalledPlace:
    if path is None:
        return InstalledPlace(name=name, path="", exists=False, writable=False, bytes=None, note=note)
    exists = path.exists()
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    writable = os.access(nearest, os.W_OK) and (exists or nearest.is_dir())
    size = _measure(path) if exists else None
    return InstalledPlace(name=name, path=str(path), exists=exists, writable=writable, bytes=size, note=note)


def _measure(path: Path) -> int:
    """Return how many bytes the files of a place have. What vanishes meanwhile, or may not be looked at, counts 0."""
    if path.is_file():
        return path.stat().st_size
    total = 0
    for folder, _, files in os.walk(path):
        for file in files:
            try:
                total += os.lstat(Path(folder, file)).st_size
            except OSError:
                continue
    return total


def _list_problems(
    packages: tuple[InstalledPackage, ...],
    extras: tuple[InstalledExtra, ...],
    places: tuple[InstalledPlace, ...],
    project: _Project | None,
) -> Iterator[str]:
    if sys.version_info < OLDEST_PYTHON:
        yield f"Python {platform.python_version()} is too old; karat needs {'.'.join(map(str, OLDEST_PYTHON))} or newer"
    for package in packages:
        if not package.ready:
            there = f"is {package.version}" if package.version else "is not installed"
            yield f"{package.name} {there}; karat needs {package.name}{package.asked}: install karat again"
    for extra in extras:
        if extra.needed and not extra.ready:
            yield f"the project needs karat's extra {extra.name} ({extra.purpose}); {extra.install}"
    if project and project.problem:
        yield project.problem
    for place in places:
        if place.name in ("configuration", "golden set", "documents") and not place.exists:
            yield f"{place.path}: there is no {place.name}; correct [golden] in karat.toml"
        elif place.name in ("runs", "reports", "kept") and not place.writable:
            yield f"{place.path}: cannot be written; give yourself the right to write there, or choose another project"


def _list_notes(project: _Project | None) -> Iterator[str]:
    try:
        cache = find_cache_folder()
    except RuntimeError:
        yield "there is no home folder, and so no cache: vectors are computed anew; name a folder in KARAT_CACHE"
    else:
        if cache is None:
            yield "KARAT_CACHE turns the cache off: vectors are computed anew"
        elif not _find_place("cache", cache, "").writable:
            yield f"{cache}: cannot be written: vectors are computed anew; name another folder in KARAT_CACHE"
    if project is None:
        yield "no project was looked at; karat doctor DIR looks at that in DIR"
