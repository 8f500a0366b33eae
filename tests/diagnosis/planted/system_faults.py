"""Faults in the system: limits, order, chunks, vectors."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.diagnosis.planted.hotel import CHUNK, Hotel, Lsa, Planted, Wrapped, hotel, lsa

from karat.core import Document, Hit
from karat.systems import Stages

# flips


class Drawn(Wrapped):
    """Orders what the healthy system finds by lot."""

    def __init__(self) -> None:
        super().__init__()
        self.random = random.Random(5)

    def draw(self, hits: list[Hit]) -> list[Hit]:
        self.random.shuffle(hits)
        return hits

    def retrieve(self, query: str, k: int) -> list[Hit]:
        hits = self.draw([*self.inner.retrieve(query, max(k, 30))])
        return [replace(hit, score=float(-rank)) for rank, hit in enumerate(hits)][:k]


def a_reranker_that_draws_lots() -> Planted:
    """The reranker orders the first thirty by lot."""
    return Planted(golden=hotel(), system=Drawn())


def noisy_scores() -> Planted:
    """The scores have noise of their own size."""

    class Noisy(Drawn):
        def draw(self, hits: list[Hit]) -> list[Hit]:
            spread = hits[0].score - hits[-1].score
            return sorted(hits, key=lambda hit: -hit.score - self.random.gauss(0, spread))

    return Planted(golden=hotel(), system=Noisy())


def two_replicas() -> Planted:
    """Two replicas answer in turn, and one of them lacks half of the documents."""

    class Replicas(Wrapped):
        turn = 0

        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest(documents)
            self.other = Hotel()
            self.other.ingest(documents[::2])

        def retrieve(self, query: str, k: int) -> list[Hit]:
            self.turn += 1
            return [*(self.inner, self.other)[self.turn % 2].retrieve(query, k)]

    return Planted(golden=hotel(), system=Replicas())


# cut


def pages_of_three() -> Planted:
    """The service returns pages of three hits, whatever k is."""

    class Pages(Wrapped):
        def retrieve(self, query: str, k: int) -> list[Hit]:
            return super().retrieve(query, min(k, 3))

    return Planted(golden=hotel(), system=Pages())


def asked_for_two() -> Planted:
    """Two hits are asked for, and eight documents are relevant."""
    return Planted(golden=hotel(), system=Hotel(), k=2)


def a_threshold_on_scores() -> Planted:
    """The pipeline drops what has less than nine tenths of the best score."""

    class Threshold(Hotel):
        def limit_per_document(self, candidates: Iterable[Any], k: int) -> list[Any]:
            best = super().limit_per_document(candidates, k)
            return [candidate for candidate in best if candidate.score >= 0.9 * best[0].score]

    return Planted(golden=hotel(), system=Threshold())


def a_shallow_last_stage() -> Planted:
    """The last stage reads four chunks and drops the others."""

    class Shallow(Hotel):
        def limit_per_document(self, candidates: Iterable[Any], k: int) -> list[Any]:
            return super().limit_per_document(list(candidates)[:4], k)

    return Planted(golden=hotel(), system=Shallow())


# mixed


def _chunked(chunk: dict[str, Any], **stages: Any) -> Planted:
    return Planted(golden=hotel(), system=Hotel(Stages(chunk=chunk, **{"dense": True, "lexical": False, **stages})))


def whole_documents() -> Planted:
    """Each document is one chunk, of which the embedder reads the beginning."""
    return _chunked({"name": "whole"})


def very_long_chunks() -> Planted:
    """Chunks of 1,200 tokens."""
    return _chunked({"name": "sentence", "size": 1200})


def long_chunks_that_overlap() -> Planted:
    """Chunks of 800 tokens without a title, cut anywhere."""
    return _chunked({"name": "fixed", "size": 800, "overlap": 200})


# embedding


class Questions:
    """An embedder that has another model for questions, which are short, than for chunks."""

    def __init__(self, other: Any) -> None:
        self._own, self._other = lsa(), other
        self.size = self._own.size

    name = "two models"

    def __call__(self, texts: Sequence[str], /) -> Any:
        return self._other(texts) if len(texts) == 1 else self._own(texts)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


class Arbitrary:
    """Vectors that have nothing to do with the text."""

    name = "arbitrary"

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, texts: Sequence[str], /) -> Any:
        rows = np.stack([np.random.default_rng(sum(text.encode())).standard_normal(self.size) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


def _embedded(embedder: Any, **stages: Any) -> Planted:
    class Embedded(Hotel):
        pass

    Embedded.embedder = embedder
    return Planted(golden=hotel(), system=Embedded(Stages(chunk=CHUNK, dense=True, **stages)))


def another_model_for_questions() -> Planted:
    """Questions are embedded by another model than documents."""
    turned = Lsa(hotel().documents[::-1][:60], size=lsa().size)
    return _embedded(Questions(turned))


def arbitrary_vectors() -> Planted:
    """The model was not trained."""
    return _embedded(Arbitrary(64))


def a_model_of_three_dimensions() -> Planted:
    """The model knows three topics, and there is no lexical channel."""
    return _embedded(Lsa(hotel().documents, size=3), lexical=False)


def vectors_in_another_order() -> Planted:
    """The vectors belong to other chunks: the index was sorted, and they were not."""

    class Shifted(Hotel):
        def ingest(self, documents: Sequence[Document]) -> None:
            super().ingest(documents)
            vectors = self._vectors
            assert vectors is not None
            rows = vectors.rows(range(len(self.chunks)))
            from karat.systems.index import Dense

            self._vectors = Dense(method="exact").build(np.roll(rows, 50, axis=0))

    return Planted(golden=hotel(), system=Shifted())
