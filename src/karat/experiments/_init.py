"""A project from nothing: configuration, a golden set to start with, and CI; nothing that is there is touched."""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import karat
from karat import golden as sets
from karat.core import Document, GoldenSet, InputError, UsageError, decode, read_bytes, write_file
from karat.experiments._workflows import GITHUB, GITLAB, Workflow

CI = Literal["github", "gitlab", "both", "none"]
State = Literal["written", "same", "kept"]
_SYSTEM = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_IGNORED = (".karat/", "runs/", "reports/")
_EXAMPLE = {
    "breakfast": "Breakfast is served from seven to ten. It costs twelve euros for guests.",
    "pool": "The pool opens at six in the morning. Children swim with an adult.",
    "wifi": "The wireless network is free for guests. The desk hands out the password.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of a file."""

    path: Path
    state: State
    """written, same as what would be written, or kept because it is there and differs."""
    diff: str = ""
    """From the file that is there to the one that would have been written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a new project is made from."""

    folder: Path
    documents: Path | None = None
    """A folder of .md, .txt and .json files, or a JSONL file, from which the first queries are made."""
    system: str = ""
    """``package.module:name`` of a retriever; without one the built-in pipeline is the system."""
    ci: CI = "github"

    def __post_init__(self) -> None:
        if self.system and not _SYSTEM.fullmatch(self.system):
            raise UsageError(f"{self.system!r} is no retriever; write package.module:name, such as app.search:retrieve")
        if self.ci not in get_args(CI):
            raise UsageError(f"{self.ci!r} is no CI; choose {', '.join(get_args(CI))}")
        for path in (self.folder, self.documents):
            if path is not None and (not str(path).isprintable() or "${{" in str(path)):
                raise UsageError(f"{str(path)!r} cannot stand in a workflow; rename the folder")

    @property
    def root(self) -> Path:
        """The repository: the nearest folder with .git, or the project itself."""
        folder = self.folder.resolve()
        return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def start_project(start: Start) -> list[Made]:
    """Write what a project needs, and say for each file what became of it; one that is there stays as it is.

    A golden set that is there is kept whole, because a mix of two sets would be none.
    """
    made = _golden_set(start)  # first: documents that cannot be read are better known before anything is written
    try:
        start.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", source=str(start.folder)) from None
    found = [_placed(start.folder / "karat.toml", _config(start))]
    found.append(_placed_set(start.folder / "golden", made))
    found.append(_placed(start.root / ".gitignore", _ignoring(start)))
    workflow = _workflow(start)
    if start.ci in ("github", "both"):
        found.append(_placed(start.root / GITHUB, workflow.github()))
    if start.ci in ("gitlab", "both"):
        found.append(_placed(start.root / GITLAB, workflow.gitlab()))
    return found


def _golden_set(start: Start) -> GoldenSet:
    if start.documents is None:
        documents = tuple(Document(id=id_, text=text, format="text") for id_, text in _EXAMPLE.items())
        return sets.synthesise(documents, 2, name="example")
    reading = sets.Reading()
    if not start.documents.exists():
        raise InputError("no such file or folder", source=str(start.documents))
    found = sets.read_documents(start.documents, reading)
    reading.finish()
    made = sets.synthesise(found, name="starter")
    if not made.queries:
        raise InputError(
            "holds no sentence to ask for", source=str(start.documents), hint="write a few, or give others"
        )
    return made


def _config(start: Start) -> str:
    asked = (
        f"# Your retriever; it has to know the documents by the ids in golden/documents.jsonl.\n"
        f"system = {json.dumps(start.system)}\n"
        if start.system
        else ""
    )
    pipeline = "" if start.system else "\n[pipeline]\nlexical = true\ndense = true # needs karat[dense]\n"
    return (
        "# What karat measures here, and what has to hold; docs/eval.md and docs/gate.md of karat have every key.\n"
        f'[golden]\npath = "golden"\n{pipeline}\n[eval]\n{asked}k = 10\n'
        'measures = ["R@5", "RR@10", "nDCG@5"]\n\n'
        "[gate]\n"
        "# No fall that is larger than tolerated, against baseline.json: karat baseline update RUN records it.\n"
        'policy = "default"\n'
        '# must_pass = ["a query\'s id"]\n'
    )


def _ignoring(start: Start) -> str:
    """Give what is in .gitignore, with what karat writes."""
    path = start.root / ".gitignore"
    there = decode(read_bytes(path), str(path)) if path.is_file() else ""
    missing = [line for line in _IGNORED if line not in there.splitlines()]
    return there + ("\n" if there and not there.endswith("\n") else "") + "".join(f"{line}\n" for line in missing)


def _workflow(start: Start) -> Workflow:
    root, folder = start.root, start.folder.resolve()
    return Workflow(
        folder=folder.relative_to(root).as_posix(), watched=tuple(_watched(start)), install=tuple(_install(start))
    )


def _watched(start: Start) -> Iterator[str]:
    """Name what changes retrieval, apart from the project's own files."""
    if start.documents is not None and start.documents.resolve().is_relative_to(start.root):
        inside = start.documents.resolve().relative_to(start.root).as_posix()
        yield inside if not start.documents.is_dir() else "**" if inside == "." else f"{inside}/**"
    if start.system:
        yield "**/*.py"
        yield from _needs(start.root)


def _needs(root: Path) -> list[str]:
    return [name for name in ("requirements.txt", "pyproject.toml") if (root / name).is_file()]


def _install(start: Start) -> Iterator[str]:
    extra = "" if start.system else "[dense]"
    yield f"python -m pip install {shlex.quote(f'karat{extra}=={karat.__version__}')}"
    if start.system:
        words = {"requirements.txt": "-r requirements.txt", "pyproject.toml": "."}
        yield from (f"python -m pip install {words[name]}" for name in _needs(start.root)[:1])


def _placed(path: Path, text: str) -> Made:
    """Write a file, unless there is one."""
    if os.path.lexists(path):
        there = decode(read_bytes(path), str(path))
        if there == text:
            return Made(path=path, state="same")
        lines = difflib.unified_diff(
            there.splitlines(), text.splitlines(), f"{path} (yours)", f"{path} (karat init)", lineterm=""
        )
        return Made(path=path, state="kept", diff="\n".join(lines))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", source=str(path.parent)) from None
    write_file(path, text)
    return Made(path=path, state="written")


def _placed_set(folder: Path, made: GoldenSet) -> Made:
    if not os.path.lexists(folder):
        sets.write(made, folder)
        return Made(path=folder, state="written")
    with tempfile.TemporaryDirectory() as other:
        sets.write(made, Path(other) / "golden")
        new = {file.name: file.read_text("utf-8") for file in sorted((Path(other) / "golden").iterdir())}
    there = {name: folder / name for name in new if (folder / name).is_file()}
    if there.keys() == new.keys() and all(new[name] == there[name].read_text("utf-8") for name in new):
        return Made(path=folder, state="same")
    ids = {query.id for query in made.queries}
    return Made(path=folder, state="kept", diff=f"it would have got {len(ids):,} queries made from the documents")
