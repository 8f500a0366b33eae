"""Judgments in columns, as files with a million of them are held, and the grades of each query in the same form.

A judgment as an object takes a microsecond to make and 200 bytes to keep. A column takes neither, and whole columns are
counted, compared and hashed at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from karat.core._judgment import Judgment, Source, Target, make_judgment

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgmentTable:
    """Judgments in the order of their file. None has a confidence or channels."""

    queries: tuple[str, ...]
    """Each query once, in the order of their first judgments."""
    targets: tuple[Target, ...]
    """Each target once, in the order of their first judgments."""
    origins: tuple[tuple[Source, str, str], ...]
    """Each combination of source, annotator and date once."""
    query: Ints
    """The number of each judgment's query, and so on."""
    target: Ints
    grade: Ints
    origin: Ints

    def __len__(self) -> int:
        return len(self.query)

    def judgments(self) -> tuple[Judgment, ...]:
        """Return an object for each judgment."""
        columns = (self.query, self.target, self.grade, self.origin)
        queries, targets, origins = self.queries, self.targets, self.origins
        return tuple(
            make_judgment(queries[query], targets[target], grade, *origins[origin])
            for query, target, grade, origin in zip(*(column.tolist() for column in columns), strict=True)
        )

    def sources(self) -> set[Source]:
        """Return where the judgments come from."""
        return {self.origins[number][0] for number in np.flatnonzero(np.bincount(self.origin)).tolist()}

    def used_targets(self) -> tuple[Target, ...]:
        """Return the targets that have a judgment, which after a selection are not all."""
        return tuple(self.targets[number] for number in np.flatnonzero(np.bincount(self.target)).tolist())

    def select(self, queries: Iterable[str]) -> JudgmentTable:
        """Return the judgments of some queries."""
        wanted = set(queries)
        kept = np.array([query in wanted for query in self.queries], np.bool_)
        rows = kept[self.query]
        numbers = np.cumsum(kept) - 1
        return JudgmentTable(
            queries=tuple(query for query in self.queries if query in wanted),
            targets=self.targets,
            origins=self.origins,
            query=numbers[self.query[rows]],
            target=self.target[rows],
            grade=self.grade[rows],
            origin=self.origin[rows],
        )

    def grades(self) -> Grades | None:
        """Return the grades by query; None if a query and a target were judged together twice."""
        pairs = np.sort(self.query * max(len(self.targets), 1) + self.target)
        if (pairs[1:] == pairs[:-1]).any():
            return None
        ends = int((self.query[1:] != self.query[:-1]).sum()) + 1 if len(self) else 0
        grouped = ends == len(self.queries)
        order = slice(None) if grouped else np.argsort(self.query, kind="stable")
        counts = np.bincount(self.query, minlength=len(self.queries))
        return Grades(
            queries=self.queries,
            targets=self.targets,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            target=self.target[order],
            grade=self.grade[order],
            grouped=grouped,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Grades(Mapping[str, Mapping[Target, int]]):
    """The grade of each judged target by query, in columns. As a mapping, it creates the dict of a query on demand."""

    queries: tuple[str, ...]
    """The queries that have judgments, in the order of the first ones."""
    targets: tuple[Target, ...]
    starts: Ints
    """Where the rows of each query begin, and where the last ones end."""
    target: Ints
    """The number of the target of each row."""
    grade: Ints
    grouped: bool = True
    """Whether the judgments of each query stand together in the set."""

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[Target, int]], *, grouped: bool) -> Grades:
        """Return grades by query and target in columns."""
        numbers: dict[Target, int] = {}
        known: dict[int, int] = {}  # by identity: readers keep equal targets once, and hashing one takes longer
        target = []
        for own in grades.values():
            for key in own:
                number = known.get(id(key))
                if number is None:
                    number = known[id(key)] = numbers.setdefault(key, len(numbers))
                target.append(number)
        return cls(
            queries=tuple(grades),
            targets=tuple(numbers),
            starts=np.cumsum([0, *map(len, grades.values())], dtype=np.int64),
            target=np.array(target, np.int64),
            grade=np.array([grade for own in grades.values() for grade in own.values()], np.int64),
            grouped=grouped,
        )

    def __getitem__(self, query: str) -> dict[Target, int]:
        if query not in self.rows:
            raise KeyError(query)
        return dict(self.pairs(query))

    def pairs(self, query: str) -> Iterator[tuple[Target, int]]:
        """Return the targets of a query with their grades, of which a dict would hash each; nothing without any."""
        row = self.rows.get(query)
        if row is None:
            return iter(())
        starts, numbers, grades = self._lists
        start, end = starts[row], starts[row + 1]
        return zip(map(self.targets.__getitem__, numbers[start:end]), grades[start:end], strict=True)

    def by_document(self, query: str) -> dict[str, int]:
        """Return the grade of each document that was judged for a query: the best one of its parts."""
        grades: dict[str, int] = {}
        for target, grade in self.pairs(query):
            grades[target.document] = max(grade, grades.get(target.document, grade))
        return grades

    @cached_property
    def _lists(self) -> tuple[list[int], list[int], list[int]]:
        """The columns as lists, of which a few items are taken in a fraction of the time."""
        return self.starts.tolist(), self.target.tolist(), self.grade.tolist()

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def __contains__(self, query: object) -> bool:
        return query in self.rows

    @cached_property
    def rows(self) -> dict[str, int]:
        """The number of each query."""
        return {query: row for row, query in enumerate(self.queries)}

    @property
    def query(self) -> Ints:
        """The number of the query of each row."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.starts))

    def at_least(self, grade: int) -> Grades:
        """Return the targets with this grade or a better one; a query without such a target stays, without rows."""
        rows = self.grade >= grade
        counts = np.bincount(self.query[rows], minlength=len(self.queries))
        return Grades(
            queries=self.queries,
            targets=self.targets,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            target=self.target[rows],
            grade=self.grade[rows],
            grouped=self.grouped,
        )

    def queries_with_targets(self) -> Iterator[str]:
        """Return the queries that have targets."""
        return compress(self.queries, (np.diff(self.starts) > 0).tolist())

    def targets_by_query(self) -> Iterator[tuple[str, list[Target]]]:
        """Yield each query that has targets, with these."""
        targets = [self.targets[number] for number in self.target.tolist()]
        starts = self.starts.tolist()
        for query, start, end in zip(self.queries, starts, starts[1:], strict=False):
            if start < end:
                yield query, targets[start:end]
