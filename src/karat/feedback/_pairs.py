"""Pairs of query and document: how often each was shown, read, cited and validated, over all sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct
from msgspec import field as default

from karat.feedback._counting import Counts, count
from karat.feedback._sessions import AskedQuery, Session
from karat.stats.clicks import Cells
from karat.text import folded

Pair = tuple[str, str]
"""A query, as :func:`karat.text.folded` writes it, and a document."""


class QueryPairs(Struct):
    """What happened to the documents of one query. A list that one session saw several times counts once."""

    forms: Counts = default(default_factory=dict)
    """How people write the query."""
    cells: dict[str, dict[int, list[int]]] = default(default_factory=dict)
    """By document and rank: how often it was shown and read, how often it stood at or above the last that was read in
    its list, and how often it was that."""
    useful: Counts = default(default_factory=dict)
    """By document: in how many sessions it was called useful."""
    not_useful: Counts = default(default_factory=dict)
    cited: Counts = default(default_factory=dict)
    """In how many sessions an answer cited it, or used its words."""
    chosen: Counts = default(default_factory=dict)
    """In how many sessions it was read, or called useful."""

    @property
    def text(self) -> str:
        """The query as most people write it; the first in the alphabet of equals."""
        return max(sorted(self.forms), key=self.forms.__getitem__)

    @property
    def documents(self) -> list[str]:
        """All documents, in the order of the alphabet."""
        return sorted({*self.cells, *self.useful, *self.not_useful, *self.cited})

    def add(self, searches: Sequence[AskedQuery]) -> int:
        """Count what one session asked in these words, and return how many documents and ranks are new.

        It counts once, since what one person does twice is not two opinions: the first list from which something was
        read, and otherwise the last.
        """
        count(self.forms, [searches[-1].query.text])
        count(self.useful, {name for own in searches for name in own.useful})
        count(self.not_useful, {name for own in searches for name in own.not_useful})
        count(self.cited, {name for own in searches for name in own.helpful})
        count(self.chosen, {name for own in searches for name in (*own.read, *own.useful)})
        return self._add_list(next((own for own in searches if own.read), searches[-1]))

    def _add_list(self, search: AskedQuery) -> int:
        """Add a list; several parts of a document are one, at the rank of the first."""
        new = 0
        shown = list(dict.fromkeys(hit.document for hit in search.query.hits if hit.rank >= 1))
        last = max((rank for rank, name in enumerate(shown, 1) if name in search.read), default=0)
        for rank, name in enumerate(shown, 1):
            ranks = self.cells.setdefault(name, {})
            if rank not in ranks:
                ranks[rank] = [0, 0, 0, 0]
                new += 1
            cell = ranks[rank]
            cell[0] += 1
            cell[1] += name in search.read
            cell[2] += not last or rank <= last
            cell[3] += rank == last
        return new


@dataclass(slots=True)
class PairCounts:
    """What happened to the documents of each query, by its folded text."""

    queries: dict[str, QueryPairs] = field(default_factory=dict)

    @property
    def cells(self) -> Cells:
        """How often each pair was shown and read at each rank; pairs are numbered as :func:`list_pairs` lists them."""
        return count_cells(self.queries)


def count_pairs(sessions: Iterable[Session]) -> PairCounts:
    """Return what happened to every pair of query and document that was shown or validated."""
    counts = PairCounts()
    for session in sessions:
        for text, searches in group_queries(session.queries).items():
            counts.queries.setdefault(text, QueryPairs()).add(searches)
    return counts


def group_queries(queries: Iterable[AskedQuery]) -> dict[str, list[AskedQuery]]:
    """Return the queries of a session by their folded texts, without those that have no word."""
    groups: dict[str, list[AskedQuery]] = {}
    for search in queries:
        if text := folded(search.query.text):
            groups.setdefault(text, []).append(search)
    return groups


def list_pairs(queries: Mapping[str, QueryPairs]) -> list[Pair]:
    """Return all pairs, in the order of the alphabet."""
    return [(text, document) for text in sorted(queries) for document in queries[text].documents]


def count_cells(queries: Mapping[str, QueryPairs]) -> Cells:
    """Return how often each pair was shown and read at each rank."""
    rows = [
        (item, rank, *cell)
        for item, (text, document) in enumerate(list_pairs(queries))
        for rank, cell in sorted(queries[text].cells.get(document, {}).items())
    ]
    items, ranks, shown, clicks, examined, last = np.array(rows, np.int64).reshape(-1, 6).T
    return Cells(items=items, ranks=ranks, shown=shown, clicks=clicks, examined=examined, last=last)
