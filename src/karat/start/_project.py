"""A project from nothing: configuration, a golden set to start with, and CI; nothing that is there is touched."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from karat.config import Config, read_config
from karat.core import InputError, UsageError
from karat.files import decode, read_bytes, write_file
from karat.start._golden import Starter, example, has_documents, same_set, starter, write_set
from karat.start._install import Install, installing
from karat.start._repository import Repository
from karat.start._workflows import GITLAB, HEAD, Workflow

CI = Literal["github", "gitlab", "both", "none"]
State = Literal["written", "same", "kept"]
_SYSTEM = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_IGNORED = (".karat", "runs", "reports", "karat-report")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of a file."""

    path: Path
    state: State
    """written, same as what would be written, or kept because it is there and differs."""
    diff: str = ""
    """From the file that is there to the one that would have been written."""
    notes: tuple[str, ...] = ()
    """What is worth knowing of it."""
    todo: tuple[str, ...] = ()
    """What is left to do by hand, because nothing that is there is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a new project is made from."""

    folder: Path
    documents: Path | None = None
    """A folder of .md, .txt and .json files, or a JSONL file, from which the first queries are made."""
    system: str = ""
    """``package.module:name`` of a retriever; without one the built-in pipeline is the system."""
    ci: CI = "github"
    karat: str = ""
    """What CI installs: a version, a requirement, a wheel or an address. Without it, what the repository requires, and
    where that says nothing, what runs here, if CI can get at it."""

    def __post_init__(self) -> None:
        if self.system and not _SYSTEM.fullmatch(self.system):
            raise UsageError(f"{self.system!r} is no retriever; write package.module:name, such as app.search:retrieve")
        if self.ci not in get_args(CI):
            raise UsageError(f"{self.ci!r} is no CI; choose {', '.join(get_args(CI))}")
        for path in (self.folder, self.documents):
            if not str(path or "").isprintable():
                raise UsageError(f"{str(path)!r} cannot stand in a configuration; rename it")

    @property
    def repository(self) -> Repository:
        """The repository that the project lies in."""
        return Repository.around(self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _There:
    """The configuration that is there already: what else is written has to fit it."""

    path: Path | None = None
    config: Config | None = None
    """None where there is none, and where it cannot be read."""
    wrong: str = ""

    @property
    def place(self) -> Path | None:
        """Where the golden set belongs."""
        return self.config.golden if self.config else None


def start_project(start: Start) -> list[Made]:
    """Write what a project needs, and say for each file what became of it; one that is there stays as it is.

    A golden set that is there is kept whole, because a mix of two sets would be none. Whatever can be known to go wrong
    is raised before anything is written.
    """
    _check_place(start.folder / "karat.toml")
    there = _there(start.folder)
    place = there.place or start.folder / "golden"
    _check_kind(place, place.is_dir() or place.is_file())
    refers = _refers(start, there, place)
    made = _starter(start, there, place, refers=refers)
    files = [(start.folder / "karat.toml", _config(start, refers=refers)), *_around(start, there, place)]
    if not os.path.lexists(place) and start.repository.path_of(place) is None:
        raise InputError("is not there, and lies outside of the repository", source=str(place))
    for path in (place, *(path for path, _ in files)):
        _check_place(path)
    first = _placed(*files[0]) if there.path in (None, files[0][0]) else _shared(there.path)
    first = replace(first, todo=(f"mend {there.wrong}",)) if there.wrong else first
    first = replace(first, notes=(*first.notes, *_missing(start)))
    return [first, _placed_set(place, made), *(_told(start, _placed(path, text)) for path, text in files[1:])]


def _told(start: Start, made: Made) -> Made:
    """Say what is left to do about a file of the repository."""
    root = start.repository.root
    if made.path == root / ".gitignore" and made.state == "kept":
        lines = " ".join(line.strip() for line in _unignored(start))
        return replace(made, todo=(f"add to .gitignore, each on a line of its own: {lines}",) if lines else ())
    if made.path.parent == root / ".gitlab" and f".gitlab/{made.path.name}" not in (_text(root / GITLAB) or ""):
        made = replace(made, todo=(f"add to {GITLAB}: include: {{ local: .gitlab/{made.path.name} }}",))
    if made.path == root / GITLAB and made.state == "kept" and len(_jobs(made.path)) > 1:
        return replace(made, diff="", notes=("holds more than the job of karat",))  # a diff would show it as deleted
    if made.path.suffix == ".yml" and made.state != "kept":
        return replace(made, todo=(*made.todo, *_installed(start).notes))
    return made


def _shared(path: Path | None) -> Made:
    assert path is not None
    return Made(path=path, state="kept", notes=("its [tool.karat] is the configuration; karat.toml would hide it",))


def _there(folder: Path) -> _There:
    """Find the configuration of a folder, as karat check does; refuse what can be none, as a pipe or a folder."""
    own, shared = folder / "karat.toml", folder / "pyproject.toml"
    path = own if os.path.lexists(own) else shared if _has_table(shared) else None
    if path is None:
        return _There(path=path)
    _check_kind(path, path.is_file())
    try:
        return _There(path=path, config=read_config(folder))
    except InputError as error:
        return _There(path=path, wrong=str(error))


def _check_kind(path: Path, good: bool) -> None:
    """Refuse something that is there and cannot be used, before anything is written beside it."""
    if not good and os.path.lexists(path):
        kind = "a folder" if path.is_dir() else "a link that leads nowhere" if path.is_symlink() else "no file"
        raise InputError(f"is {kind}", source=str(path), hint="move it away, and start again")


def _has_table(path: Path) -> bool:
    try:
        return bool(tomllib.loads(_text(path) or "").get("tool", {}).get("karat"))
    except (tomllib.TOMLDecodeError, AttributeError):  # then it configures nothing
        return False


def _refers(start: Start, there: _There, place: Path) -> bool:
    """Say whether the configuration names the documents, so that the golden set holds none.

    A part that is there decides for the other. A retriever of one's own reads the documents by itself: with a copy in
    the set, a changed document is measured, and what was measured before can still be compared.
    """
    if start.documents is None:
        return False
    if there.path is not None:
        return there.config is not None and there.config.documents is not None
    return not start.system and not has_documents(place) and not _apart(start)


def _apart(start: Start) -> str:
    """Say why the documents cannot be read where they are; empty if they can."""
    if start.documents is None:
        return ""
    if start.repository.path_of(start.documents) is None:
        return "lies outside of the repository"
    inside = start.folder.resolve().is_relative_to(start.documents.resolve())
    return "holds the project itself, with its reports" if inside else ""


def _starter(start: Start, there: _There, place: Path, *, refers: bool) -> Starter:
    if start.documents is None:
        return example()
    made = starter(start.documents, start.folder.resolve().name)
    if refers:
        return made.referring()
    apart = "" if start.system or there.path or has_documents(place) else _apart(start)
    note = f"holds a copy of {start.documents}, which {apart}; a change there is not measured"
    return replace(made, notes=(*made.notes, note)) if apart else made


def _config(start: Start, *, refers: bool) -> str:
    documents = ""
    if refers and start.documents is not None:
        relative = os.path.relpath(start.documents.resolve(), start.folder.resolve())
        documents = f"documents = {json.dumps(Path(relative).as_posix(), ensure_ascii=False)}\n"
    moving = "# Documents are edited every day: a run on others is compared all the same, with a caveat.\n"
    may = f"{moving}documents_may_change = true\n" if documents else ""
    asked = (
        f"# Your retriever; it has to know the documents by the ids in golden/judgments.jsonl.\n"
        f"system = {json.dumps(start.system, ensure_ascii=False)}\n"
        if start.system
        else ""
    )
    pipeline = "" if start.system else "\n[pipeline]\nlexical = true\ndense = true # needs karat[dense]\n"
    return (
        "# What karat measures here, and what has to hold; docs/eval.md and docs/gate.md of karat have every key.\n"
        f'[golden]\npath = "golden"\n{documents}{pipeline}\n[eval]\n{asked}k = 10\n'
        'measures = ["R@5", "RR@10", "nDCG@5"]\n\n'
        "[gate]\n"
        "# No fall that is larger than tolerated, against the baseline: karat baseline update DIR records it.\n"
        'policy = "default"\n'
        '# baseline = "baseline.json" # without the mark once it is recorded: then the gate fails if it is gone\n'
        f"{may}"
        '# must_pass = ["a query\'s id"]\n'
    )


def _around(start: Start, there: _There, place: Path) -> Iterator[tuple[Path, str]]:
    """Give the files of the repository: what git ignores, and what CI does."""
    root = start.repository.root
    known = _text(root / ".gitignore") or ""
    yield root / ".gitignore", known + ("\n" if known and not known.endswith("\n") else "") + "".join(_unignored(start))
    if start.ci == "none":
        return
    workflow = _workflow(start, there, place)
    if start.ci in ("github", "both"):
        yield root / workflow.place, workflow.github()
    if start.ci in ("gitlab", "both"):
        file = GITLAB if _is_ours(root / GITLAB, workflow.job) else workflow.included
        yield root / file, workflow.gitlab(file)


def _is_ours(path: Path, job: str) -> bool:
    """Say whether karat wrote a pipeline for this project, or there is none yet: to another it can only be added."""
    return not os.path.lexists(path) or ((_text(path) or "").startswith(HEAD.rstrip()) and job in _jobs(path))


def _jobs(path: Path) -> set[str]:
    """Give the keys of a pipeline, which are its jobs and what is said of all of them."""
    return set(re.findall(r"^([^\s#-][^:\n]*):", _text(path) or "", re.MULTILINE))


def _unignored(start: Start) -> list[str]:
    """Give the lines that .gitignore lacks: what karat writes, by its place, since others have such folders too."""
    known = {line.strip().strip("/") for line in (_text(start.repository.root / ".gitignore") or "").splitlines()}
    folder = start.repository.path_of(start.folder) or "."
    inside = "" if folder == "." else re.sub(r"[\\*?\[]", r"\\\g<0>", folder) + "/"
    wanted = {name: name if name == "karat-report" else f"{inside}{name}" for name in _IGNORED}
    return [f"/{line}/\n" for name, line in wanted.items() if not {name, line} & known]


def _workflow(start: Start, there: _There, place: Path) -> Workflow:
    repository = start.repository
    folder = repository.path_of(start.folder) or "."
    code = (
        [f"{folder}/**/*.py" if folder != "." and _module(start, start.folder) else "**/*.py"] if start.system else []
    )
    shared = [_from_root(start, there.path)] if there.path and there.path.name == "pyproject.toml" else []
    return Workflow(
        folder=folder,
        golden=_from_root(start, place),
        documents=_from_root(start, start.documents) if start.documents is not None else "",
        watched=(*code, *shared),
        needs=repository.needs(start.folder),
        install=_installed(start).lines,
        branch=repository.branch(),
    )


def _installed(start: Start) -> Install:
    repository = start.repository
    return installing(repository, repository.needs(start.folder), spec=start.karat, system=bool(start.system))


def _module(start: Start, folder: Path, parts: int | None = None) -> bool:
    """Say whether a folder holds the module of the retriever, or the first parts of its name."""
    path = Path(*start.system.partition(":")[0].split(".")[:parts])
    found = (one / path for one in (folder, folder / "src"))
    return any(one.with_suffix(".py").is_file() or one.is_dir() for one in found)


def _missing(start: Start) -> list[str]:
    """Say that the module of the retriever is nowhere to be seen; it may still come."""
    name = start.system.partition(":")[0]
    places = (start.folder, start.repository.root, Path())
    if not name or any(_module(start, folder) for folder in places):
        return []
    if not any(_module(start, folder, 1) for folder in places) and _is_installed(name.partition(".")[0]):
        return []
    return [f"there is no module {name} in {start.folder} yet, where karat check looks for the retriever"]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # as of __main__
        return False


def _from_root(start: Start, path: Path) -> str:
    """Give a path as a workflow wants it: with a slash behind a folder, and empty if it lies outside."""
    found = start.repository.path_of(path)
    return "" if found is None else found if path.is_file() else f"{found}/"


def _check_place(path: Path) -> None:
    """Refuse a place where nothing can be written, if nothing is there yet."""
    if os.path.lexists(path):
        return
    above = next(folder for folder in path.parents if os.path.lexists(folder))
    if not above.is_dir():
        raise InputError("cannot be made: a file is in its place", source=str(above))
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError("cannot be written into: permission denied", source=str(above))


def _text(path: Path) -> str | None:
    """Read a file that may be there; None where it is none, or no text."""
    try:
        return decode(read_bytes(path), str(path)) if path.is_file() else None
    except (InputError, OSError):  # as of a folder that may not be entered
        return None


def _placed(path: Path, text: str) -> Made:
    """Write a file, unless there is something."""
    if not os.path.lexists(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", source=str(path.parent)) from None
        write_file(path, text)
        return Made(path=path, state="written")
    there = _text(path)
    if there is None:
        return Made(path=path, state="kept", notes=("is no file with text that can be read",))
    if there.splitlines() == text.splitlines():  # a checkout may have given it other line ends
        return Made(path=path, state="same")
    lines = difflib.unified_diff(
        there.splitlines(), text.splitlines(), f"{path.name} (yours)", f"{path.name} (karat init)", lineterm=""
    )
    return Made(path=path, state="kept", diff="\n".join(lines))


def _placed_set(folder: Path, made: Starter) -> Made:
    empty = folder.is_dir() and not any(folder.iterdir())
    if empty or not os.path.lexists(folder):
        try:
            write_set(made.golden, folder)
        except (InputError, FileNotFoundError):
            if not any(folder.glob("*")):
                raise
            return Made(path=folder, state="kept", notes=("another karat init wrote it at the same time",))
        return Made(path=folder, state="written", notes=made.notes)
    if same_set(made.golden, folder):
        return Made(path=folder, state="same", notes=made.notes)
    note = f"it would have got {len(made.golden.queries):,} queries made from the documents"
    return Made(path=folder, state="kept", notes=(note,))
