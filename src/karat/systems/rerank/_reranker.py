"""The protocol of a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from karat.systems._chunk import Chunk


class Reranker(Protocol):
    """Scores how well each chunk answers a query by reading both together; slower than an index, and better."""

    def __call__(self, query: str, chunks: Sequence[Chunk], /) -> Sequence[float]:
        """Return a finite score for each chunk, in order; higher is better."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the scores, as plain data for fingerprints, without secrets."""
        ...
