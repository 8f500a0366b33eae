"""A new project: configuration, a golden set to start with, and CI."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from karat.config import Config, read_config
from karat.core import InputError, UsageError
from karat.files import parse_toml
from karat.start._golden import Starter, has_documents, make_example, make_starter, read_own
from karat.start._install import Install, plan_install
from karat.start._repository import Repository
from karat.start._retriever import describe_missing_name
from karat.start._workflows import GITLAB, HEAD, Workflow
from karat.start._writing import (
    FileResult,
    check_kind,
    check_place,
    place_file,
    place_lines,
    place_set,
    read_text,
)

OnInconclusive = Literal["pass", "fail"]
CI = Literal["github", "gitlab", "both", "none"]
_SYSTEM = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_IGNORED = (".karat", "runs", "reports", "karat-report")
_LOG = "karat.db*"
"""The query log with its key: what people asked does not belong into a repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """The choices for a new project."""

    folder: Path
    documents: Path | None = None
    """A folder of .md, .txt and .json files, or a JSONL file, from which the first queries are made."""
    golden: Path | None = None
    """A golden set that exists already, in any format that karat reads; by default one is made from the documents."""
    system: str = ""
    """``package.module:name`` of a retriever; empty for the built-in pipeline."""
    ci: CI = "github"
    on_inconclusive: OnInconclusive = "pass"
    """What the gate does if there are too few queries to tell: pass with a warning, or fail with exit code 4."""
    karat: str = ""
    """What CI installs: a version, a requirement, a wheel or an address. If empty, it is what the repository requires,
    or else the karat that runs here, if CI can get it."""

    def __post_init__(self) -> None:
        if self.system and not _SYSTEM.fullmatch(self.system):
            raise UsageError(
                f"{self.system!r} is not a retriever; write package.module:name, such as app.search:retrieve"
            )
        if self.ci not in get_args(CI):
            raise UsageError(f"{self.ci!r} is not a CI; choose {', '.join(get_args(CI))}")
        if self.on_inconclusive not in get_args(OnInconclusive):
            raise UsageError(
                f"{self.on_inconclusive!r} is not an answer; choose {' or '.join(get_args(OnInconclusive))}"
            )
        for path in (self.folder, self.documents, self.golden):
            if not str(path or "").isprintable():
                raise UsageError(f"{str(path)!r} cannot stand in a configuration; rename it")

    @property
    def repository(self) -> Repository:
        """The repository that contains the project."""
        return Repository.find(self.folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Existing:
    """The configuration that exists already, to which the other files must fit."""

    path: Path | None = None
    config: Config | None = None
    """None if there is none, or if it cannot be read."""
    problem: str = ""

    @property
    def golden(self) -> Path | None:
        """The place of the golden set."""
        return self.config.golden if self.config else None

    @property
    def relevant(self) -> int | None:
        """The lowest relevant grade that the configuration names."""
        return self.config.relevant if self.config else None

    @property
    def system(self) -> str:
        """The retriever of the configuration; empty for the pipeline, or for a service behind HTTP."""
        return self.config.eval.system if self.config else ""


def start_project(start: Start) -> list[FileResult]:
    """Write the files of a project, and return what happened to each; existing files stay as they are.

    Only .gitignore gets lines at its end. Whatever can be known to go wrong is raised before anything is written.
    """
    check_place(start.folder / "karat.toml")
    existing = _find_existing(start.folder)
    if not start.system and _SYSTEM.fullmatch(existing.system):
        start = replace(start, system=existing.system)
    place = _place_golden(start, existing)
    check_kind(place, place.is_dir() or place.is_file())
    refers = _refers(start, existing, place)
    starter = _make_starter(start, existing, place, refers=refers)
    config = start.folder / "karat.toml"
    front_matter = refers and starter.with_front_matter > 0
    files = [(config, _config(start, refers=refers, front_matter=front_matter)), *_ci_files(start, existing, place)]
    if not os.path.lexists(place) and start.repository.relative(place) is None:
        raise InputError("does not exist, and is outside of the repository", source=str(place))
    ignore = start.repository.root / ".gitignore"
    for path in (place, ignore, *(path for path, _ in files)):
        check_place(path)
    first = place_file(*files[0]) if existing.path in (None, config) else _keep_shared(existing.path)
    first = replace(first, todo=(f"correct {existing.problem}",)) if existing.problem else first
    first = replace(first, notes=(*first.notes, *_missing_module(start)))
    return [
        first,
        FileResult(path=place, state="same", notes=starter.notes) if start.golden else place_set(place, starter),
        place_lines(ignore, _ignored(start)),
        *(_add_todo(start, place_file(path, text)) for path, text in files[1:]),
    ]


def _place_golden(start: Start, existing: _Existing) -> Path:
    """Return where the golden set is, or will be. One that is named has to be there, and to get into CI."""
    if start.golden is None:
        return existing.golden or start.folder / "golden"
    if existing.golden is not None and existing.golden.resolve() != start.golden.resolve():
        problem = f"its golden set is {existing.golden}"
        raise InputError(problem, source=str(existing.path), hint=f"name {start.golden} there, or leave it out here")
    if os.path.lexists(start.golden) and start.repository.relative(start.golden) is None:
        raise InputError("is outside of the repository, so that CI would not have it", source=str(start.golden))
    return start.golden


def name_next_steps(start: Start, results: Sequence[FileResult]) -> list[str]:
    """Return what to do after :func:`start_project`: what is left to do by hand, and how to go on.

    A baseline that exists needs no recording, and only queries that karat wrote need replacing.
    """
    folder = shlex.quote(str(start.folder))
    existing = _find_existing(start.folder)
    place = _place_golden(start, existing)
    steps = [*dict.fromkeys(step for result in results for step in result.todo)]
    record = f", then karat baseline update {folder}, and commit baseline.json with the rest."
    is_recorded = existing.config is not None and _has_baseline(existing.config)
    steps.append(f"karat check {folder}{'' if is_recorded else record}")
    if not start.golden and any(result.path == place and result.state in ("written", "same") for result in results):
        steps.append(
            "Replace the queries with what people ask. They are sentences of the documents, and show that everything "
            f"works; until then karat golden check {folder} warns that they prove little."
        )
    return steps


def _has_baseline(config: Config) -> bool:
    named = config.gate.get("baseline")
    return (config.folder / (named if isinstance(named, str) else "baseline.json")).is_file()


def _add_todo(start: Start, result: FileResult) -> FileResult:
    """Add what is left to do by hand about a file for CI."""
    root = start.repository.root
    if result.path.parent == root / ".gitlab" and f".gitlab/{result.path.name}" not in (read_text(root / GITLAB) or ""):
        result = replace(result, todo=(f"add to {GITLAB}: include: {{ local: .gitlab/{result.path.name} }}",))
    if result.path == root / GITLAB and result.state == "kept" and len(_jobs(result.path)) > 1:
        return replace(result, diff="", notes=("holds more than karat's job",))  # a diff would show it as deleted
    if result.path.suffix == ".yml" and result.state != "kept":
        return replace(result, todo=(*result.todo, *_install(start).notes))
    return result


def _keep_shared(path: Path | None) -> FileResult:
    assert path is not None
    note = "its [tool.karat] is the configuration, which a karat.toml would hide"
    return FileResult(path=path, state="kept", notes=(note,))


def _find_existing(folder: Path) -> _Existing:
    """Return the configuration of a folder, as karat check finds it; raise InputError for a pipe or a folder."""
    own, shared = folder / "karat.toml", folder / "pyproject.toml"
    path = own if os.path.lexists(own) else shared if _has_table(shared) else None
    if path is None:
        return _Existing(path=path)
    check_kind(path, path.is_file())
    try:
        return _Existing(path=path, config=read_config(folder))
    except InputError as error:
        return _Existing(path=path, problem=str(error))


def _has_table(path: Path) -> bool:
    try:
        return bool(parse_toml(read_text(path) or "", str(path)).get("tool", {}).get("karat"))
    except (InputError, AttributeError):  # it configures nothing
        return False


def _refers(start: Start, existing: _Existing, place: Path) -> bool:
    """Return whether the configuration names the documents, so that the golden set holds none.

    An existing configuration or golden set decides. A retriever of one's own may read the documents by itself, or take
    in those of the golden set: a copy would hide every later change from the latter.
    """
    if start.documents is None:
        return False
    if existing.path is not None:
        return existing.config is not None and existing.config.documents is not None
    return not has_documents(place) and (start.golden is not None or not _why_copied(start))


def _why_copied(start: Start) -> str:
    """Return why the documents cannot be read where they are; empty if they can."""
    if start.documents is None:
        return ""
    if start.repository.relative(start.documents) is None:
        return "is outside of the repository"
    inside = start.folder.resolve().is_relative_to(start.documents.resolve())
    return "contains the project itself, with its reports" if inside else ""


def _make_starter(start: Start, existing: _Existing, place: Path, *, refers: bool) -> Starter:
    # A set that is there already has spans into the text as it was read before; a new one leaves front matter out.
    reads = existing.config.front_matter if existing.config is not None else "title"
    if start.golden is not None:
        starter = read_own(start.golden, start.documents if refers else None, reads, existing.relevant)
        why = _why_copied(start) if refers else ""
        return replace(starter, notes=(*starter.notes, *([f"{start.documents} {why}"] if why else [])))
    if start.documents is None:
        return make_example()
    starter = make_starter(start.documents, start.folder.resolve().name, reads)
    if refers:
        return starter.without_documents()
    why = "" if existing.path or has_documents(place) else _why_copied(start)
    note = f"holds a copy of {start.documents}, which {why}; a change there is not measured"
    return replace(starter, notes=(*starter.notes, note)) if why else starter


def _config(start: Start, *, refers: bool, front_matter: bool) -> str:
    documents = ""
    if refers and start.documents is not None:
        relative = os.path.relpath(start.documents.resolve(), start.folder.resolve())
        documents = f"documents = {json.dumps(Path(relative).as_posix(), ensure_ascii=False)}\n"
        if front_matter:
            documents += 'front_matter = "title" # no text but its title, which is the first heading\n'
    place = os.path.relpath(start.golden.resolve(), start.folder.resolve()) if start.golden else "golden"
    system = (
        f"# Your retriever; it must know the documents by the ids of the golden set.\n"
        f"system = {json.dumps(start.system, ensure_ascii=False)}\n"
        if start.system
        else ""
    )
    pipeline = "" if start.system else "\n[pipeline]\nlexical = true\ndense = true # needs karat's extra dense\n"
    return (
        "# What karat measures here, and what must hold; docs/eval.md and docs/gate.md of karat list every key.\n"
        f"[golden]\npath = {json.dumps(Path(place).as_posix(), ensure_ascii=False)}\n"
        f"{documents}{pipeline}\n[eval]\n{system}k = 10\n"
        'measures = ["R@5", "RR@10", "nDCG@5"]\n\n'
        "[gate]\n"
        "# No drop beyond the tolerance, against the baseline that karat baseline update DIR records. It proposes\n"
        "# floors, too. karat gate DIR --show-policy prints all rules.\n"
        'extends = "default"\n'
        '# If the queries are too few to tell: "pass" is exit code 0 with a warning, so that a small loss\n'
        '# stays green (pull requests); "fail" is exit code 4 (releases). karat power DIR --gate shows what these\n'
        "# queries can see.\n"
        f'on_inconclusive = "{start.on_inconclusive}"\n'
        "# Once a baseline is recorded, name it: a baseline that is named and missing is exit code 2.\n"
        '# baseline = "baseline.json"\n'
        "# Questions that must keep a relevant hit at rank 1; an id alone lets it fall to any rank.\n"
        '# must_pass = [{ query = "a query\'s id", metric = "RR@10", min = 1 }]\n'
    )


def _ci_files(start: Start, existing: _Existing, place: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files for CI."""
    if start.ci == "none":
        return
    root = start.repository.root
    workflow = _workflow(start, existing, place)
    if start.ci in ("github", "both"):
        yield root / workflow.place, workflow.github()
    if start.ci in ("gitlab", "both"):
        file = GITLAB if _is_ours(root / GITLAB, workflow.job) else workflow.included
        yield root / file, workflow.gitlab(file)


def _is_ours(path: Path, job: str) -> bool:
    """Return whether karat wrote a pipeline for this project, or there is none: any other can only be added to."""
    return not os.path.lexists(path) or ((read_text(path) or "").startswith(HEAD.rstrip()) and job in _jobs(path))


def _jobs(path: Path) -> set[str]:
    """Return the top-level keys of a pipeline: its jobs, and settings for all of them."""
    return set(re.findall(r"^([^\s#-][^:\n]*):", read_text(path) or "", re.MULTILINE))


def _ignored(start: Start) -> list[str]:
    """Return the lines for .gitignore: what karat writes, by its full path, since others have such folders, too."""
    folder = start.repository.relative(start.folder) or "."
    inside = "" if folder == "." else re.sub(r"[\\*?\[]", r"\\\g<0>", folder) + "/"
    folders = (f"/{name}/" if name == "karat-report" else f"/{inside}{name}/" for name in _IGNORED)
    return [*folders, f"/{inside}{_LOG}"]


def _workflow(start: Start, existing: _Existing, place: Path) -> Workflow:
    repository = start.repository
    folder = repository.relative(start.folder) or "."
    code = f"{folder}/**/*.py" if folder != "." and _has_module(start, start.folder) else "**/*.py"
    shared = [_from_root(start, existing.path)] if existing.path and existing.path.name == "pyproject.toml" else []
    return Workflow(
        folder=folder,
        golden=_from_root(start, place),
        documents=_from_root(start, start.documents) if start.documents is not None else "",
        watched=(*([code] if start.system else []), *shared),
        unwatched=() if start.system else (code,),
        needs=repository.find_requirements(start.folder),
        install=_install(start).lines,
        branch=repository.find_branch(),
    )


def _install(start: Start) -> Install:
    repository = start.repository
    needs = repository.find_requirements(start.folder)
    return plan_install(repository, needs, spec=start.karat, system=bool(start.system))


def _has_module(start: Start, folder: Path, parts: int | None = None) -> bool:
    """Return whether a folder contains the retriever's module, or the first parts of its name."""
    path = Path(*start.system.partition(":")[0].split(".")[:parts])
    places = (place / path for place in (folder, folder / "src")) if start.system else ()
    return any(place.with_suffix(".py").is_file() or place.is_dir() for place in places)


def _missing_module(start: Start) -> list[str]:
    """Return a note if the retriever's module does not exist yet, or does not define it."""
    name = start.system.partition(":")[0]
    places = (start.folder, start.repository.root, Path())
    if not name:
        return []
    if any(_has_module(start, folder) for folder in places):
        files = (file for folder in places for file in _list_files(name, folder) if file.is_file())
        return [note for file in islice(files, 1) if (note := describe_missing_name(start.system, file))]
    if not any(_has_module(start, folder, 1) for folder in places) and _is_installed(name.partition(".")[0]):
        return []
    return [f"there is no module {name} in {start.folder} yet, where karat check looks for the retriever"]


def _list_files(module: str, folder: Path) -> Iterator[Path]:
    """Yield the files that a module may be in, as they are looked for."""
    path = Path(*module.split("."))
    for place in (folder, folder / "src"):
        yield place / path / "__init__.py"
        yield (place / path).with_suffix(".py")


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # for instance of __main__
        return False


def _from_root(start: Start, path: Path) -> str:
    """Return a path for a workflow: with a slash at the end of a folder, and empty outside of the repository."""
    relative = start.repository.relative(path)
    return "" if relative is None else relative if path.is_file() else f"{relative}/"
