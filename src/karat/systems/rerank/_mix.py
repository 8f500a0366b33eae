"""What becomes of hits once a reranker has read them: mixed, thinned out and ordered anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from karat.core import InputError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """A hit that is kept."""

    place: int
    """Its place, from 0, in what was given."""
    similarity: float
    rerank: float
    combined: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """How a reranker's scores change the order.

    ``combined = (1 - weight) * similarity + weight * rerank``; what the reranker gives less than ``threshold`` is
    dropped, and what it gives just that is kept. Both scores should be on one scale, such as 0 to 1. The defaults are
    those of FIT-RAG-PIPELINE-001: half and half, and nothing under 0.5.

    >>> kept = Mix()([0.9, 0.8, 0.7], [0.2, 0.5, 0.9], ["wifi", "pool", "pool"], 5)
    >>> [(hit.place, round(hit.combined, 2)) for hit in kept]
    [(2, 0.8)]
    """

    weight: float = 0.5
    """The share of the reranker; 1 leaves it alone to decide."""
    threshold: float | None = 0.5
    """The least that the reranker must give; None keeps all."""
    best_per_document: bool = True
    """Keep only the best chunk of a document. It is done before the cut, so that it costs no places."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise UsageError(f"weight={self.weight}; choose a share from 0 to 1")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise UsageError(f"threshold={self.threshold} is no finite number")

    def describe(self) -> dict[str, Any]:
        """Give all that decides the result."""
        return {"weight": self.weight, "threshold": self.threshold, "best_per_document": self.best_per_document}

    def __call__(
        self, similarities: Sequence[float], reranks: Sequence[float], documents: Sequence[str], k: int
    ) -> list[Mixed]:
        """Give at most k hits, best first, equal ones in their given order; ``documents`` names whose each hit is."""
        if k < 1:
            raise UsageError(f"k={k}; ask for at least one hit")
        if not len(similarities) == len(reranks) == len(documents):
            counts = f"{len(similarities)} similarities, {len(reranks)} rerank scores, {len(documents)} documents"
            raise InputError(f"{counts}: one of each belongs to a hit")
        if not all(map(math.isfinite, (*similarities, *reranks))):
            raise InputError("a score is not a finite number")
        kept = [
            Mixed(place=i, similarity=s, rerank=r, combined=(1 - self.weight) * s + self.weight * r)
            for i, (s, r) in enumerate(zip(similarities, reranks, strict=True))
            if self.threshold is None or r >= self.threshold
        ]
        kept.sort(key=lambda hit: -hit.combined)
        if self.best_per_document:
            first: dict[str, Mixed] = {}
            for hit in kept:
                first.setdefault(documents[hit.place], hit)
            kept = list(first.values())
        return kept[:k]
