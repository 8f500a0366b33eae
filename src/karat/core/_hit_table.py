"""The hits of a whole run in columns, one answer after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import attrgetter, countOf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core._hit_list import HitList

Ints = NDArray[np.int64]
_table_of, _start_of, _end_of = (attrgetter(name) for name in ("table", "start", "end"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HitTable:
    """Hits of which only id, document and score are known.

    >>> table = HitTable(names=["pool", "wifi"], id=np.array([1, 0, 1]), document=np.array([1, 0, 1]),
    ...                  score=np.array([0.9, 0.8, 0.7]), lengths=np.array([2, 1]))
    >>> [hits.ids for hits in table.lists]
    [['wifi', 'pool'], ['wifi']]
    """

    names: Sequence[str]
    """Each id and each document once."""
    id: Ints
    """The number of the name of each hit's id."""
    document: Ints
    """The number of the name of each hit's document; the same array if each id is that of a document."""
    score: NDArray[np.float64]
    lengths: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """How many hits each answer has: the first has the first rows, and so on."""
    lists: list[HitList] = field(init=False, repr=False)
    """The hits of each answer."""

    def __post_init__(self) -> None:
        ends = np.append(0, np.cumsum(self.lengths)).tolist()
        object.__setattr__(self, "lists", list(map(HitList.of_table, repeat(self), ends, ends[1:])))

    def take_names(self, start: int, end: int) -> tuple[list[str], list[str]]:
        """Return the ids and the documents in some rows; they are the same list if each id is that of a document."""
        names = self.names
        ids = [names[number] for number in self.id[start:end].tolist()]
        documents = ids
        if self.document is not self.id:
            documents = [names[number] for number in self.document[start:end].tolist()]
            documents = ids if documents == ids else documents
        return ids, documents

    def take_scores(self, start: int, end: int) -> list[float]:
        """Return the scores in some rows."""
        scores: list[float] = self.score[start:end].tolist()
        return scores


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableRows:
    """The rows of some lists in the table that they share, one list after the other."""

    table: HitTable
    lengths: Ints
    """How many hits each list has."""
    rows: Any
    """The rows of all of them: an array, or a slice if they stand in the table one after the other."""


def find_table_rows(lists: Sequence[Sequence[Any]]) -> TableRows | None:
    """Return the rows of lists in the table that all of them share, or None if some are held otherwise.

    >>> table = HitTable(names=["a"], id=np.zeros(5, int), document=np.zeros(5, int), score=np.zeros(5))
    >>> first, last = HitList.of_table(table, 0, 2), HitList.of_table(table, 3, 5)
    >>> find_table_rows([first, last]).rows.tolist(), find_table_rows([first, ()])
    ([0, 1, 3, 4], None)
    """
    if not lists or not isinstance(lists[0], HitList):
        return None
    table = lists[0].table
    if not isinstance(table, HitTable):
        return None
    if table.lists == lists:  # as of most runs
        return TableRows(table=table, lengths=table.lengths, rows=slice(0, len(table.id)))
    if countOf(map(type, lists), HitList) < len(lists) or countOf(map(_table_of, lists), table) < len(lists):
        return None
    start, end = (np.fromiter(map(place, lists), np.int64, len(lists)) for place in (_start_of, _end_of))
    lengths = end - start
    if (start[1:] == end[:-1]).all():
        return TableRows(table=table, lengths=lengths, rows=slice(int(start[0]), int(end[-1])))
    before = np.cumsum(lengths) - lengths
    rows = np.repeat(start - before, lengths) + np.arange(int(lengths.sum()))
    return TableRows(table=table, lengths=lengths, rows=rows)
