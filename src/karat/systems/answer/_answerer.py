"""The protocol of answerers, and the passages that they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from karat.core import Answer, Citation, Hit, Span
from karat.systems._chunk import Chunk
from karat.systems.index import LexicalIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    r"""A hit with its text.

    >>> chunk = Chunk(id="pool:chunk:1", document="pool", span=Span(40, 50), text="The pool\\nIt is warm")
    >>> Passage.of(Hit("pool:chunk:1", 0.8, span=Span(40, 50)), chunk).text
    'It is warm'
    """

    hit: Hit
    text: str
    """Its part of the document's canonical text, without the line of context that is indexed before it."""

    @classmethod
    def of(cls, hit: Hit, chunk: Chunk) -> Passage:
        """Return the passage of a hit, whose chunk may have a line of context before its body."""
        body = chunk.text.encode()[-len(chunk.span) :] if len(chunk.span) else b""
        return cls(hit=hit, text=body.decode())

    def cite(self, start: int, end: int) -> Citation:
        """Return a citation of ``text[start:end]``, by its bytes in the document."""
        first = (self.hit.span.start if self.hit.span else 0) + len(self.text[:start].encode())
        span = Span(first, first + len(self.text[start:end].encode()))
        return Citation(self.hit.id, self.hit.document, span)


class Answerer(Protocol):
    """Makes an answer from the best hits; the same question and hits always give the same answer."""

    @property
    def hits(self) -> int:
        """How many of the best hits it reads."""
        ...

    def __call__(self, query: str, passages: Sequence[Passage], index: LexicalIndex, /) -> Answer:
        """Return the answer. The index knows how rare each word of the documents is.

        It has no hits; they may be an empty :class:`Retrieved` with the milliseconds that the answer takes, if that is
        not what the call took, because it came from a cache.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the answer."""
        ...
