"""Hits of which only id, document and score are known, in columns: a run has a million of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, overload

from karat.core._drafts import make_hits
from karat.core._hit import Hit


class Table(Protocol):
    """The hits of many lists: a :class:`karat.core.HitTable`."""

    def take_names(self, start: int, end: int) -> tuple[list[str], list[str]]:
        """Return the ids and the documents in some rows."""

    def take_scores(self, start: int, end: int) -> list[float]:
        """Return the scores in some rows."""


class HitList(Sequence[Hit]):
    """A list of hits that creates its objects on demand.

    It holds its ids, documents and scores, or its place in the table of all hits of a run.

    >>> hits = HitList(["wifi", "pool"], [0.9, 0.8])
    >>> len(hits), hits.documents, hits[1]
    (2, ['wifi', 'pool'], Hit(id='pool', score=0.8, document='pool', span=None, section='', block='', type='', \
content='', channels={}, stages={}, source_hash='', tenant='', locator=''))
    """

    __slots__ = ("documents", "end", "ids", "scores", "start", "table")

    ids: list[str]
    scores: list[float]
    documents: list[str]
    table: Table | None
    """The table that these hits are rows of, from ``start`` to ``end``; None for a list of its own."""

    def __init__(self, ids: list[str], scores: list[float], documents: list[str] | None = None) -> None:
        self.ids = ids
        self.scores = scores
        self.documents = ids if documents is None else documents
        self.table, self.start, self.end = None, 0, len(ids)

    @classmethod
    def of_table(cls, table: Table, start: int, end: int) -> HitList:
        """Return the hits in some rows of a table."""
        hits = cls.__new__(cls)
        hits.table = table
        hits.start = start
        hits.end = end
        return hits

    def __getattr__(self, name: str) -> Any:
        """Return a column of the table. It is not kept: a million hits would take as much memory as objects do."""
        if name not in ("ids", "scores", "documents") or self.table is None:
            raise AttributeError(name)
        if name == "scores":
            return self.table.take_scores(self.start, self.end)
        ids, documents = self.table.take_names(self.start, self.end)
        return ids if name == "ids" else documents

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how to make the list anew, of its own columns: a copy does not need the hits of all others."""
        ids, documents = self.names()
        return HitList, (ids, self.scores, None if documents is ids else documents)

    def names(self) -> tuple[list[str], list[str]]:
        """Return the ids and the documents, which are the same list if each id is that of a document."""
        return (self.ids, self.documents) if self.table is None else self.table.take_names(self.start, self.end)

    def __len__(self) -> int:
        return self.end - self.start

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits())

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits()[place]

    def hits(self) -> tuple[Hit, ...]:
        """Return an object for each hit."""
        ids, documents = self.names()
        return make_hits(ids, self.scores, documents)


def list_documents(hits: Iterable[Hit]) -> list[str]:
    """Return the document of each hit."""
    return hits.documents if isinstance(hits, HitList) else [hit.document for hit in hits]


def list_scores(hits: Iterable[Hit]) -> list[float]:
    """Return the score of each hit."""
    return hits.scores if isinstance(hits, HitList) else [hit.score for hit in hits]
