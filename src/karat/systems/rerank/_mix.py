"""How a reranker's scores change the hits: mixed with similarity, filtered and sorted again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from karat.core import InputError, UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixed:
    """A hit that stays after reranking."""

    place: int
    """Its place, from 0, among the hits before."""
    similarity: float
    rerank: float
    combined: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """A weighted mean of similarity and rerank score, with a threshold.

    ``combined = (1 - weight) * similarity + weight * rerank``. Hits with a rerank score below ``threshold`` are
    dropped. Both scores should be on one scale, such as 0 to 1. The defaults are those of FIT-RAG-PIPELINE-001: equal
    weights, and a threshold of 0.5.

    >>> hits = Mix()([0.9, 0.8, 0.7], [0.2, 0.5, 0.9], ["wifi", "pool", "pool"], 5)
    >>> [(hit.place, round(hit.combined, 2)) for hit in hits]
    [(2, 0.8)]
    """

    weight: float = 0.5
    """The share of the rerank score; with 1 it alone decides."""
    threshold: float | None = 0.5
    """The lowest rerank score that is kept; None for no limit."""
    best_per_document: bool = True
    """Whether only the best chunk of a document is kept, before the first k hits are taken."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise UsageError(f"weight={self.weight}; choose a share from 0 to 1")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise UsageError(f"threshold={self.threshold} is not a finite number")

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result."""
        return {"weight": self.weight, "threshold": self.threshold, "best_per_document": self.best_per_document}

    def __call__(
        self, similarities: Sequence[float], reranks: Sequence[float], documents: Sequence[str], k: int
    ) -> list[Mixed]:
        """Return at most k hits, best first, ties in their order before; ``documents`` has the document of each hit."""
        if k < 1:
            raise UsageError(f"k={k}; ask for at least one hit")
        if not len(similarities) == len(reranks) == len(documents):
            counts = f"{len(similarities)} similarities, {len(reranks)} rerank scores, {len(documents)} documents"
            raise InputError(f"{counts}; pass one of each for every hit")
        if not all(map(math.isfinite, (*similarities, *reranks))):
            raise InputError("a score is not a finite number")
        hits = [
            Mixed(place=i, similarity=s, rerank=r, combined=(1 - self.weight) * s + self.weight * r)
            for i, (s, r) in enumerate(zip(similarities, reranks, strict=True))
            if self.threshold is None or r >= self.threshold
        ]
        hits.sort(key=lambda hit: -hit.combined)
        if self.best_per_document:
            first: dict[str, Mixed] = {}
            for hit in hits:
                first.setdefault(documents[hit.place], hit)
            hits = list(first.values())
        return hits[:k]
