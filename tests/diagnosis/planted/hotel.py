"""The hotel as a healthy system, with a small embedder of its own, so that no model is needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from karat.config import Settings
from karat.core import Document, GoldenSet, Hit, Unit
from karat.diagnosis import Diagnosis, diagnose
from karat.golden import read
from karat.runs import make_run
from karat.systems import Pipeline, Stages, adapt
from karat.systems._kept_chunks import Chunks
from karat.text import content

HOTEL = Path(__file__).parents[3] / "examples" / "hotel"
QUERIES = 24
"""Those of which the healthy system loses least are asked: what fails in a healthy system is not the planted fault."""
UNCHOSEN = 30
"""The first of the set, whatever they lose."""
READS = 128
"""Words that the embedder reads, as models have a limit."""


@cache
def whole() -> GoldenSet:
    """Return the hotel with the questions that have an answer: nothing can be lost of the others."""
    golden = read(HOTEL)
    return keep(golden, [query.id for query in golden.queries if query.answerable])


def hotel() -> GoldenSet:
    """Return the hotel with the queries that faults are planted for."""
    return chosen() if not _is_unchosen else unchosen()


_is_unchosen = False


@contextmanager
def without_choice() -> Iterator[None]:
    """Plant faults for the first queries of the hotel, instead of those that the healthy system answers best."""
    global _is_unchosen
    _is_unchosen = True
    try:
        yield
    finally:
        _is_unchosen = False


@cache
def unchosen() -> GoldenSet:
    return keep(whole(), [query.id for query in whole().queries[:UNCHOSEN]])


@cache
def chosen() -> GoldenSet:
    golden, system = whole(), Hotel()
    system.ingest(golden.documents)
    losses = {}
    for query in golden.queries:
        found = {hit.document for hit in system.retrieve(query.text, 10)}
        relevant = {t.document: g for t, g in golden.grades_by_query[query.id].items() if g >= golden.relevant}
        losses[query.id] = sum(g for id_, g in relevant.items() if id_ not in found) / sum(relevant.values())
    return keep(golden, sorted(losses, key=lambda id_: (losses[id_], id_))[:QUERIES])


def keep(golden: GoldenSet, ids: Sequence[str]) -> GoldenSet:
    """Return a golden set with some of its queries."""
    kept = set(ids)
    return replace(
        golden,
        queries=tuple(query for query in golden.queries if query.id in kept),
        judgments=tuple(judgment for judgment in golden.judgments if judgment.query in kept),
    )


class Lsa:
    """Latent semantic analysis of a collection: words that occur together have similar vectors (Deerwester 1990)."""

    def __init__(self, documents: Sequence[Document], size: int = 96, *, reads: int = READS) -> None:
        self.size, self._reads = size, reads
        texts = [part for document in documents for part in document.text.split("\n\n") if part.strip()]
        bags = [content(text)[:reads] for text in texts]
        self._words = {word: i for i, word in enumerate(sorted({word for bag in bags for word in bag}))}
        counts = np.zeros((len(bags), len(self._words)), np.float32)
        for row, bag in zip(counts, bags, strict=True):
            for word in bag:
                row[self._words[word]] += 1
        self._idf = np.log(1 + len(bags) / (1 + (counts > 0).sum(axis=0))).astype(np.float32)
        weighted = np.log1p(counts) * self._idf
        weighted /= np.linalg.norm(weighted, axis=1, keepdims=True) + 1e-9
        noise = np.random.default_rng(0).standard_normal((len(bags), size + 16)).astype(np.float32)
        base, _ = np.linalg.qr(weighted.T @ (weighted @ (weighted.T @ noise)))
        _, _, right = np.linalg.svd(weighted @ base, full_matrices=False)
        self._axes = base @ right.T[:, :size]
        self._memory: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return f"lsa-{self.size}-{self._reads}-{len(self._words)}"

    def __call__(self, texts: Sequence[str], /) -> Any:
        return np.stack([self._embed(text) for text in texts])

    def _embed(self, text: str) -> Any:
        if text not in self._memory:
            bag = Counter(self._words[word] for word in content(text)[: self._reads] if word in self._words)
            rows, counts = list(bag), np.fromiter(bag.values(), np.float32, len(bag))
            vector = (np.log1p(counts) * self._idf[rows]) @ self._axes[rows]
            length = np.linalg.norm(vector)
            self._memory[text] = (vector / length if length else np.ones(self.size) / self.size**0.5).astype(np.float32)
        return self._memory[text]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}


@cache
def lsa() -> Lsa:
    return Lsa(whole().documents)


CHUNK = {"name": "sentence", "size": 128, "overlap": 16, "context": "title"}


_BUILT: dict[Any, Any] = {}


class Hotel(Pipeline):
    """The pipeline of the hotel. Faults override a part of it."""

    embedder: Any = None
    document_ids = None  # type: ignore[assignment]  # karat refuses to evaluate an index that is known to lack documents

    def __init__(self, stages: Stages | None = None, **options: Any) -> None:
        super().__init__(stages or Stages(chunk=CHUNK, dense=True), **options)

    def _cut(self, documents: Sequence[Document]) -> Any:
        """Cut the same text in the same way once for all faults and ids."""
        chunker = str(self._chunker.describe())
        chunks: list[Any] = []
        for document in documents:
            key = (chunker, document.format, document.title, document.text)
            if key not in _BUILT:
                _BUILT[key] = self._chunker(document)
            parts = _BUILT[key]
            if parts and parts[0].document != document.id:
                parts = [
                    replace(part, id=f"{document.id}:chunk:{number}", document=document.id)
                    for number, part in enumerate(parts)
                ]
            chunks += parts
        return Chunks(chunks)

    def _load_or_build(self, name: str, how: str, load: Any, build: Any) -> Any:
        """Build the same lexical index once for all faults."""
        if name != "lexical":
            return super()._load_or_build(name, how, load, build)
        if (name, how) not in _BUILT:
            _BUILT[name, how] = build()
        return _BUILT[name, how]

    def _make_embedding(self) -> Any:
        from karat.systems._embedding import Embedding

        return Embedding(self.embedder or lsa())


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A broken system with its golden set, and how it is asked."""

    golden: GoldenSet
    system: object
    k: int = 10
    unit: Unit = "document"


def explain(planted: Planted) -> Diagnosis:
    """Make a run of a broken system, and explain it."""
    system = adapt(planted.system)
    run = make_run(planted.golden, system, Settings(k=planted.k, warm_up=0))
    return diagnose(planted.golden, run, unit=planted.unit, system=system)


class Wrapped:
    """A system around the healthy one, of which karat sees only ``retrieve``."""

    name = "wrapped"

    def __init__(self, inner: Pipeline | None = None) -> None:
        self.inner = inner or Hotel()

    def ingest(self, documents: Sequence[Document]) -> None:
        self.inner.ingest(documents)

    def retrieve(self, query: str, k: int) -> list[Hit]:
        return [self.change(hit) for hit in self.inner.retrieve(query, k)]

    def change(self, hit: Hit) -> Hit:
        return hit
