"""The desk of a project: its golden set, the labels of people, the queues, and what they are asked to keep to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import RLock

from karat.config import Config, read_config
from karat.core import GoldenSet, InputError, KaratError, UsageError, did_you_mean, shorten
from karat.files import decode, name_paths, read_bytes
from karat.golden import open_set
from karat.labelling._book import Book
from karat.labelling._journal import check_name, check_namesake, list_names
from karat.labelling._queue import ENDING, Queue, check_queue_name, read_queue
from karat.labelling._state import QueueState
from karat.schema.labelling import LabelAgreement

FOLDER, PEOPLE, QUEUES, PROPOSALS, GUIDELINES = "labels", "people", "queues", "proposals", "guidelines.md"
_ATTRIBUTES = "*.jsonl merge=union text eol=lf\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """What people read before they label, and its version: a digest of the text."""

    text: str
    version: str


class Desk:
    """Where people label. It may be used by several threads, and several desks of one project at the same time.

    Everything is in the folder ``labels`` of the project: a file of labels for each person, a file for each queue and
    each proposal, and ``guidelines.md``. Nothing but an accepted proposal changes the golden set.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.folder = config.folder / FOLDER
        self.book = Book(self.folder / PEOPLE)
        self.lock = RLock()
        self.agreements: dict[str, tuple[tuple[object, ...], GoldenSet, LabelAgreement]] = {}
        """The agreement in each queue, with what it was computed from."""
        self._states: dict[str, tuple[tuple[int, int, int], QueueState]] = {}
        self._golden: tuple[object, GoldenSet] | None = None
        self._annotators: tuple[GoldenSet | None, frozenset[str]] = None, frozenset()
        """Who judged the golden set."""

    @property
    def golden(self) -> GoldenSet:
        """The golden set as it is now; it is read again when one of its files was changed."""
        mark = tuple(self._mark_files())
        if self._golden is None or self._golden[0] != mark:
            self._golden = mark, open_set(self.config)
        return self._golden[1]

    def _mark_files(self) -> Iterator[tuple[str, int, int]]:
        path = self.config.golden
        files = [path, *sorted(path.glob("*.jsonl")), *sorted(path.glob("*.toml"))] if path.is_dir() else [path]
        for file in [*files, *([self.config.documents] if self.config.documents else [])]:
            if file.exists():
                status = file.stat()
                yield str(file), status.st_mtime_ns, status.st_size if file.is_file() else 0

    @property
    def guidelines(self) -> Guidelines:
        """The text of ``labels/guidelines.md``, or the meaning of the grades where there is no such file."""
        file = self.folder / GUIDELINES
        if os.path.lexists(file):
            text = decode(read_bytes(file), str(file))
        else:
            grades = "".join(f"- {grade}: {meaning}\n" for grade, meaning in enumerate(self.golden.grades))
            text = f"Grade how well the document answers the question, by what it says and nothing else.\n\n{grades}"
        return Guidelines(text=text, version=sha256(text.encode()).hexdigest()[:12])

    def check_person(self, who: str) -> None:
        """Refuse what is no name, and one that somebody else has in other letters: in the labels, or in the set."""
        check_name(who)
        golden = self.golden
        if self._annotators[0] is not golden:
            people = {own.annotator for own in golden.judgments if own.source in ("manual", "validated")}
            self._annotators = golden, frozenset(people - {""})
        files = list_names(self.book.folder)
        check_namesake(who, files)
        if who not in files:
            check_namesake(who, sorted(self._annotators[1]))

    def list_queues(self) -> tuple[str, ...]:
        """Return the names of the queues."""
        folder = self.folder / QUEUES
        files = sorted(folder.glob(f"*{ENDING}")) if folder.is_dir() else []
        return tuple(file.name.removesuffix(ENDING) for file in files)

    def open_queue(self, name: str) -> QueueState:
        """Return a queue, with what was labelled of it until now."""
        check_queue_name(name)
        path = self.queue_path(name)
        try:
            status = path.stat()
        except OSError:
            known = self.list_queues()
            near = did_you_mean(name, known) or (f"; there are {', '.join(known)}" if known else "")
            hint = "" if known else "; 'karat label queue' makes them"
            raise UsageError(f"no queue {shorten(name)}{near}{hint}") from None
        mark = (status.st_ino, status.st_mtime_ns, status.st_size)
        with self.lock:
            if name not in self._states or self._states[name][0] != mark:
                self._states[name] = mark, QueueState(self._read(path, name), self.book)
            state = self._states[name][1]
            self.book.refresh()
            state.follow()
            return state

    def open_queues(self) -> tuple[tuple[QueueState, ...], tuple[str, ...]]:
        """Return the queues that can be read, and what is wrong with the others."""
        states, problems = [], []
        for name in self.list_queues():
            try:
                states.append(self.open_queue(name))
            except KaratError as error:
                problems.append(self.name_problem(error))
        return tuple(states), tuple(problems)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Whose labels no number counts, since their files cannot be read, and why."""
        return tuple(
            f"{self.name_problem(own)}. Until then no label of this file counts." for own in self.book.problems
        )

    def name_problem(self, error: KaratError) -> str:
        """Return what is wrong with a file, which is named as seen from the project."""
        return name_paths(str(error), self.config.folder)

    def _read(self, path: Path, name: str) -> Queue:
        queue = read_queue(path)
        if queue.name != name:
            raise InputError(f"is the queue {shorten(queue.name)}", source=str(path), hint="rename the file")
        return queue

    def queue_path(self, name: str) -> Path:
        """Return the file of a queue."""
        return self.folder / QUEUES / f"{name}{ENDING}"

    def prepare(self) -> None:
        """Make the folder, with a note for git: lines that two branches append to one file are all kept."""
        self.folder.mkdir(parents=True, exist_ok=True)
        attributes = self.folder / ".gitattributes"
        if not attributes.exists():
            from karat.files import write_file

            write_file(attributes, _ATTRIBUTES)


def list_people(project: Path) -> tuple[str, ...]:
    """Return who has labels in a project, also where they cannot be read."""
    return list_names(project / FOLDER / PEOPLE)


def open_desk(folder: str | Path) -> Desk:
    """Return the desk of a project, or of a golden set in a folder of its own."""
    path = Path(folder)
    if not path.exists():
        raise InputError("no such file or folder", source=str(folder))
    config = read_config(path)
    return Desk(config)
