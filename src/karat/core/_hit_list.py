"""Hits of which only id, document and score are known, in columns: a run has a million of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from karat.core._drafts import make_hits
from karat.core._hit import Hit


class HitList(Sequence[Hit]):
    """A list of hits that makes its objects when somebody asks for them.

    >>> hits = HitList(["wifi", "pool"], [0.9, 0.8])
    >>> len(hits), hits.documents, hits[1]
    (2, ['wifi', 'pool'], Hit(id='pool', score=0.8, document='pool', span=None, section='', block='', type='', \
content='', channels={}, stages={}, source_hash='', tenant='', locator=''))
    """

    __slots__ = ("documents", "ids", "scores")

    def __init__(self, ids: list[str], scores: list[float], documents: list[str] | None = None) -> None:
        self.ids = ids
        self.scores = scores
        self.documents = ids if documents is None else documents

    def __len__(self) -> int:
        return len(self.ids)

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
        return make_hits(self.ids, self.scores, self.documents)


def list_documents(hits: Iterable[Hit]) -> list[str]:
    """Return the document of each hit."""
    return hits.documents if isinstance(hits, HitList) else [hit.document for hit in hits]


def list_scores(hits: Iterable[Hit]) -> list[float]:
    """Return the score of each hit."""
    return hits.scores if isinstance(hits, HitList) else [hit.score for hit in hits]
