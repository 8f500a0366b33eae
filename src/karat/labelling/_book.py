"""All labels of a project: what each person says of each pair now, after all that was undone or said anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from karat.core import InputError, KaratError, UsageError
from karat.labelling._journal import ENDING, Journal, check_name, check_namesake, fold_name, list_names, name_file
from karat.schema.labelling import LabelLine

Pair = tuple[str, str]
"""A query and a document."""
Voter = tuple[str, bool]
"""A person, and whether this is what that person settled: somebody may have labelled a pair before settling it."""
Votes = Mapping[Voter, LabelLine]


class Change(NamedTuple):
    """What a person says of a pair now, and said before."""

    who: str
    pair: Pair
    before: LabelLine | None
    now: LabelLine | None


class Book:
    """The labels in a folder, which has one file for each person.

    ``changes`` is a log of what happened to labels since they were read first, so that others can follow without
    reading all of it again. ``edition`` goes up where they have to: a file was replaced.

    A file that cannot be read stops nobody but its owner: all of its labels are left out until it is put right, since
    those that can be read may have been taken back in those that cannot.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.edition = 0
        self.changes: list[Change] = []
        self._journals: dict[str, Journal] = {}
        self._said: dict[str, dict[tuple[Pair, bool], dict[str, LabelLine]]] = {}
        """What each person said of a pair and did not take back, by key, the latest last."""
        self._votes: dict[Pair, dict[Voter, LabelLine]] = {}
        self._damaged: dict[str, tuple[object, KaratError]] = {}
        """What is wrong with a file, by its name, and how the file looked then."""

    @property
    def people(self) -> tuple[str, ...]:
        """Who has a file, by name."""
        return tuple(sorted(self._journals))

    @property
    def repairs(self) -> tuple[str, ...]:
        """What was removed from files since they were opened."""
        return tuple(note for journal in self._journals.values() for note in journal.repairs)

    @property
    def problems(self) -> tuple[KaratError, ...]:
        """Why the labels of some files are left out."""
        return tuple(error for _, (_, error) in sorted(self._damaged.items()))

    def refresh(self) -> None:
        """Read what was written since the last time, by this process or another one."""
        paths = sorted(self.folder.glob(f"*{ENDING}")) if self.folder.is_dir() else []
        twins = _find_twins(paths)
        present = {path.name: (_mark(path), twins.get(path.name, "")) for path in paths}
        self._damaged = {name: own for name, own in self._damaged.items() if present.get(name) == own[0]}
        for path in paths:
            if path.name not in self._damaged:
                self._refresh(path, present[path.name])
        for who, journal in list(self._journals.items()):
            if who in self._said and journal.path.name not in present:
                self._take(who, journal)

    def _refresh(self, path: Path, mark: tuple[object, str]) -> None:
        """Read on in a file; what is wrong with it is noted."""
        try:
            who = unquote(path.name.removesuffix(ENDING))
            if mark[1]:
                self._drop(who)
                problem = f"has the name of {mark[1]} in other letters, so that one person would count as two"
                hint = f"put its lines into {mark[1]} and remove it, or rename it if it is somebody else's"
                raise InputError(problem, source=f"{path}", hint=hint)
            journal = self.find_journal(who)
            if journal.path != path:
                hint = f"rename the file to {journal.path.name}"
                raise InputError("is not named as karat does it", source=f"{path}", hint=hint)
            self._take(who, journal)
        except InputError as error:
            self._damaged[path.name] = mark, error
        except UsageError as error:  # what it is named after is no name
            self._damaged[path.name] = mark, InputError(f"{error}", source=f"{path}", hint="rename the file")

    def require(self, who: str) -> None:
        """Raise what is wrong with the file of a person, who would otherwise be asked again what is in it.

        A name that somebody else has in other letters is refused, too.
        """
        if (own := self._damaged.get(name_file(who))) is not None:
            raise own[1]
        check_namesake(who, list_names(self.folder))

    def require_all(self) -> None:
        """Raise what is wrong with a file, where a decision has to know what everybody says."""
        for error in self.problems:
            raise error

    def find_journal(self, who: str) -> Journal:
        """Return the file of a person, which need not exist yet."""
        if who not in self._journals:
            check_name(who)
            self._journals[who] = Journal(path=self.folder / name_file(who), who=who)
        return self._journals[who]

    def append(self, who: str, line: LabelLine) -> tuple[LabelLine, bool, tuple[str, ...]]:
        """Write a line of a person; return the line that its key has, whether it was there before, and repairs."""
        journal = self.find_journal(who)
        repaired = len(journal.repairs)
        known = line.key in journal.keys
        try:
            replaced, fresh, saved = journal.append(line)
        except InputError:
            self._drop(who)
            raise
        self._follow(who, replaced, fresh)
        return saved, known or saved is not line, tuple(journal.repairs[repaired:])

    def _take(self, who: str, journal: Journal) -> None:
        try:
            replaced, fresh = journal.read_on()
        except InputError:
            self._drop(who)
            raise
        self._follow(who, replaced, fresh)

    def _follow(self, who: str, replaced: bool, fresh: list[LabelLine]) -> None:
        if replaced:
            self._drop(who)
        for line in fresh:
            self._apply(who, line)

    def _drop(self, who: str) -> None:
        if who not in self._said:
            return
        for pair, settles in self._said.pop(who):
            self._votes.get(pair, {}).pop((who, settles), None)
        self.edition += 1
        self.changes.clear()

    def _apply(self, who: str, line: LabelLine) -> None:
        said = self._said.setdefault(who, {})
        subject = self._journals[who].keys.get(line.undoes) if line.verdict == "undo" else line
        if subject is None or subject.verdict == "undo":
            return  # a merge of files left out the line that is undone; there is nothing to take back
        pair, voter = (subject.query, subject.document), (who, subject.settles)
        history = said.setdefault((pair, subject.settles), {})
        history.pop(subject.key, None)
        if line is subject:
            history[line.key] = line
        votes = self._votes.setdefault(pair, {})
        before = votes.pop(voter, None)
        now = _latest(history)
        if now is not None:
            votes[voter] = now
        self.changes.append(Change(who, pair, before, now))

    def votes(self, pair: Pair) -> Votes:
        """Return what people say of a pair."""
        return self._votes.get(pair, {})

    def pairs(self) -> Iterator[tuple[Pair, Votes]]:
        """Yield every pair of which somebody says something, with what people say."""
        return ((pair, votes) for pair, votes in self._votes.items() if votes)

    def labels_of(self, who: str) -> Iterator[tuple[Pair, LabelLine]]:
        """Yield what a person says of each pair."""
        said = self._said.get(who, {})
        return ((pair, line) for (pair, _), lines in said.items() if (line := _latest(lines)) is not None)

    def list_graded(self) -> set[tuple[Pair, Voter]]:
        """Return which pairs people ever gave a grade, also one that was taken back."""
        return {
            ((line.query, line.document), (who, line.settles))
            for who in self._said
            for line in self._journals[who].keys.values()
            if line.grade is not None
        }

    def last(self, who: str) -> LabelLine | None:
        """Return the last label of a person that was not undone."""
        keys = self._journals[who].keys if who in self._journals else {}
        said = self._said.get(who, {})
        for line in reversed(keys.values()):
            if line.verdict != "undo" and line.key in said.get(((line.query, line.document), line.settles), {}):
                return line
        return None


def _find_twins(paths: Sequence[Path]) -> dict[str, str]:
    """Return the files whose name another one has in other letters, with that one, which is in small letters if any is.

    It is the one that counts. A file system that does not tell them apart has only one.
    """
    first: dict[str, str] = {}
    twins = {}
    for name in sorted((path.name for path in paths), key=lambda own: (unquote(own) != fold_name(unquote(own)), own)):
        if (other := first.setdefault(fold_name(unquote(name)), name)) != name:
            twins[name] = other
    return twins


def _mark(path: Path) -> object:
    """Return what changes when somebody puts a file right; None if that cannot be seen."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _latest(lines: dict[str, LabelLine]) -> LabelLine | None:
    """Return the last of some lines; None if there is none."""
    return next(reversed(lines.values()), None)


def settle(votes: Votes) -> tuple[str, LabelLine] | None:
    """Return who settled a pair, and the label: the latest, if several did; None if nobody did."""
    settling = [(who, line) for (who, settles), line in votes.items() if settles and line.verdict == "grade"]
    return max(settling, key=lambda own: (own[1].at, own[1].key), default=None)


def list_labels(votes: Votes) -> dict[str, LabelLine]:
    """Return what each person said of a pair, a grade or that it cannot be told, before anybody settled it."""
    return {who: line for (who, settles), line in votes.items() if not settles and line.verdict != "skip"}


def list_grades(votes: Votes) -> dict[str, int]:
    """Return the grade of each person who gave one, without grades that settle."""
    return {who: line.grade for who, line in list_labels(votes).items() if line.grade is not None}


def decide_grade(votes: Votes) -> int | None:
    """Return the grade of a pair as a golden set decides it: what was settled, or the lower median of all grades."""
    settled = settle(votes)
    if settled is not None:
        return settled[1].grade
    grades = sorted(list_grades(votes).values())
    return grades[(len(grades) - 1) // 2] if grades else None


def is_disputed(votes: Votes) -> bool:
    """Return whether somebody has to settle a pair: grades differ, or nobody who looked can tell."""
    labels = list_labels(votes)
    return (
        bool(labels)
        and settle(votes) is None
        and (
            len({line.grade for line in labels.values() if line.grade is not None}) > 1
            or all(line.grade is None for line in labels.values())
        )
    )
