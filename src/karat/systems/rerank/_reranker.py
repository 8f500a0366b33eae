"""What a reranker is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from karat.systems._chunk import Chunk


class Reranker(Protocol):
    """Reads a query and each chunk together, and says how well they fit: slower than an index, and better."""

    def __call__(self, query: str, chunks: Sequence[Chunk], /) -> Sequence[float]:
        """Give a finite score for each chunk, in their order; higher is better."""
        ...

    def describe(self) -> dict[str, Any]:
        """Give all that decides the scores, as plain data for fingerprints; no secrets."""
        ...
