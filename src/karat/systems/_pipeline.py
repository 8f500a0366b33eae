"""The built-in pipeline: chunk, embed, index, retrieve, fuse, rerank; each stage a value, all of them one system."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from karat.core import Document, Hit, InputError, Place, UsageError, did_you_mean, shorten
from karat.systems._chunk import Chunk
from karat.systems._expand import Feedback
from karat.systems._fuse import Fusion, minmax
from karat.systems._mmr import Variety, mmr
from karat.systems._protocol import Retrieved
from karat.systems._stages import Stages, chosen, made
from karat.systems.chunk import chunker
from karat.systems.embed import ModelMissing, cached, embedder
from karat.systems.index import Dense, Lexical, LexicalIndex, VectorIndex, fingerprint
from karat.systems.rerank import Reranking, reranking

Progress = Callable[[str, int, int], None]
"""Is told a stage, how much of it is done, and how much there is to do."""
Index = TypeVar("Index", LexicalIndex, VectorIndex)
_CHANNELS = ("lexical", "dense")
_SLICE = 128  # texts that are embedded between two words of progress: a few seconds
_PER_HIT = 3  # candidates for each hit: chunks of documents that are there already fall away


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A chunk on its way through the stages."""

    number: int
    score: float
    channels: Mapping[str, Place]
    stages: Mapping[str, float]


class Pipeline:
    """A retriever over documents that it is given once.

    >>> pool = Document(id="pool", text="The pool opens at six.")
    >>> wifi = Document(id="wifi", text="The network is free for guests.")
    >>> pipeline = Pipeline(Stages(dense=False))
    >>> pipeline.ingest([pool, wifi])
    >>> [hit.id for hit in pipeline.retrieve("When does the pool open?", 5)]
    ['pool:chunk:0']
    """

    name = "pipeline"

    def __init__(
        self,
        stages: Stages | None = None,
        *,
        cache: Path | None = None,
        say: Callable[[str], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """With ``cache``, a folder, embeddings and indexes are kept there for the next time."""
        self.stages = stages or Stages()
        self._cache, self._say = cache, say or (lambda _: None)
        self._progress = progress or (lambda *_: None)
        self._chunker = chunker(self.stages.chunk)
        self._fusion = made(Fusion, self.stages.fusion, "pipeline.fusion")
        for channel in self._fusion.weights:
            if channel not in _CHANNELS:
                raise UsageError(
                    f"[pipeline.fusion] weights names {shorten(channel)}, which is no channel"
                    f"{did_you_mean(channel, _CHANNELS) or '; there are ' + ' and '.join(_CHANNELS)}"
                )
        self._lexical = chosen(Lexical, self.stages.lexical, "lexical")
        self._expand = chosen(Feedback, self.stages.expand, "expand")
        self._dense = chosen(Dense, self.stages.dense, "dense")
        self._variety = chosen(Variety, self.stages.mmr, "mmr")
        self._reranking = self._find_reranking()
        self._embedder: Any = self._find_embedder() if self._dense else None
        self._chunks: Sequence[Chunk] = ()
        self._documents: tuple[str, ...] = ()
        self._words: LexicalIndex | None = None
        self._vectors: VectorIndex | None = None

    def _find_reranking(self) -> Reranking | None:
        if not isinstance(self.stages.rerank, Mapping):
            return None
        return reranking(self.stages.rerank, best_per_document=self.stages.per_document == 1)

    def _find_embedder(self) -> Any:
        """Find the embedder; without the model the lexical channel works alone, and it is said how to get the other."""
        try:
            return embedder(self.stages.embedder)
        except ModelMissing as error:
            if self._lexical is None or self._variety is not None:
                raise
            self._say(f"lexical channel only: {error}")
            return None

    def describe(self) -> dict[str, Any]:
        """Give all that decides what is found."""
        return {
            "kind": "pipeline",
            "chunk": self._chunker.describe(),
            "lexical": self._lexical and self._lexical.describe(),
            "expand": self._expand and self._expand.describe(),
            "embedder": self._embedder and self._embedder.describe(),
            "dense": self._dense.describe() if self._dense and self._embedder else None,
            "fusion": self._fusion.describe(),
            "rerank": self._reranking and self._reranking.describe(),
            "mmr": self._variety and self._variety.describe(),
            "depth": self.stages.depth,
            "per_document": self.stages.per_document,
        }

    def ingest(self, documents: Sequence[Document]) -> None:
        """Take in the documents: cut, embed and index them."""
        if not documents:
            raise InputError(
                "there is no document to index; the golden set holds none", hint="name them in [golden] documents"
            )
        self._documents = tuple(document.id for document in documents)
        chunks: list[Chunk] = []
        for done, document in enumerate(documents, 1):
            chunks += self._chunker(document)
            if not done % 1000 or done == len(documents):
                self._progress("cutting", done, len(documents))
        self._chunks = chunks
        texts = [chunk.text for chunk in chunks]
        if (lexical := self._lexical) is not None:
            how = fingerprint(lexical.describe(), texts)
            self._words = self._kept("lexical", how, lexical.load, lambda: lexical.build(texts))
        if (dense := self._dense) is not None and self._embedder is not None:
            how = fingerprint({"embedder": self._embedder.name, **dense.describe()}, texts)
            self._vectors = self._kept(
                "dense", how, lambda p, f: dense.load(p, f, size=len(texts)), lambda: dense.build(self._embed(texts))
            )

    def _kept(self, name: str, how: str, load: Callable[[Path, str], Index], build: Callable[[], Index]) -> Index:
        """Take an index from the cache if it was built from the same in the same way; else build it, and keep it."""
        if self._cache is None:
            return build()
        path = self._cache / f"{name}.index"
        try:
            return load(path, how)
        except InputError:  # there is none, or it is of something else, or damaged: all are reasons to build it anew
            index = build()
        try:
            index.save(path, how)
        except InputError as error:
            self._say(f"the {name} index is not kept: {error}")
        return index

    def _embed(self, texts: Sequence[str]) -> Any:
        """Embed what is indexed. Queries go to the embedder itself: a latency out of a cache would be a false one."""
        model = self._embedder
        if self._cache is not None:
            model = cached(model, self._cache / "embeddings.sqlite", say=self._say)
        self._say_too_long(texts)
        parts = []
        for start in range(0, len(texts), _SLICE):
            self._progress("embedding", start, len(texts))
            parts.append(model(texts[start : start + _SLICE]))
        self._progress("embedding", len(texts), len(texts))
        return np.concatenate(parts)

    def _say_too_long(self, texts: Sequence[str]) -> None:
        count = getattr(self._embedder, "too_long", None)
        if count is not None and (cut := count(texts)):
            self._say(
                f"{cut:,} of {len(texts):,} chunks are longer than the embedder reads, and it does not see their ends; "
                "choose a smaller size in [pipeline.chunk]"
            )

    def document_ids(self) -> Iterable[str]:
        """Give the documents that it holds."""
        return self._documents

    def retrieve(self, query: str, k: int) -> Retrieved:
        """Give the best chunks, with the channels that found them and the time that each stage took."""
        clock = _Clock()
        depth = max(self.stages.depth, _PER_HIT * k)
        found: dict[str, list[tuple[int, float]]] = {}
        if self._words is not None:
            found["lexical"] = self._search_words(self._words, query, depth)
            clock.lap("lexical")
        if self._vectors is not None:
            vector = self._embedder([query])[0]
            clock.lap("embed")
            found["dense"] = self._vectors.search(vector, depth)
            clock.lap("dense")
        candidates = self._fused(found)
        clock.lap("fusion")
        if self._reranking is not None:
            candidates = self._reranked(self._reranking, query, candidates, k)
            clock.lap("rerank")
        if self._vectors is not None and self._variety is not None:
            depth = self._depth(candidates, self._variety.depth, k)
            candidates = _varied(self._variety, self._vectors, candidates[:depth])
            clock.lap("mmr")
        hits = [self._hit(one) for one in self._few_per_document(candidates, k)]
        return Retrieved(hits, clock.laps)

    def _search_words(self, index: LexicalIndex, query: str, depth: int) -> list[tuple[int, float]]:
        if self._expand is None:
            return index.search(query, depth)
        return self._expand.search(index, lambda number: self._chunks[number].text, query, depth)

    def _fused(self, found: Mapping[str, list[tuple[int, float]]]) -> list[_Candidate]:
        """Fuse the channels; where there is only one, its own scores say more than any made of ranks."""
        if len(found) > 1:
            return [
                _Candidate(number=one.id, score=one.score, channels=one.channels, stages={})
                for one in self._fusion(found)
            ]
        ((name, ranking),) = found.items()
        return [
            _Candidate(number=number, score=score, channels={name: Place(rank, score)}, stages={})
            for rank, (number, score) in enumerate(ranking, 1)
        ]

    def _reranked(self, how: Reranking, query: str, candidates: Sequence[_Candidate], k: int) -> list[_Candidate]:
        """Let the reranker read the first candidates; those that it did not read are no longer any."""
        read = candidates[: self._depth(candidates, how.depth, k)]
        if not read:
            return []
        chunks = [self._chunks[one.number] for one in read]
        scores = how.reranker(query, chunks)
        # A cosine is on the reranker's scale already; sums of ranks and BM25 are not.
        similar = [one.score for one in read]
        if self._words is not None:
            similar = minmax(similar)
        kept = how.mix(similar, scores, [chunk.document for chunk in chunks], len(read))
        return [
            replace(
                read[one.place],
                score=one.combined,
                stages={"retrieval": read[one.place].score, "rerank": one.rerank},
            )
            for one in kept
        ]

    def _depth(self, candidates: Sequence[_Candidate], depth: int, k: int) -> int:
        """Give how many candidates to look at: so many, or more, if k hits cannot come of those."""
        limit = self.stages.per_document or len(candidates)
        counts: dict[str, int] = {}
        found = 0
        for n, one in enumerate(candidates):
            if n >= depth and found >= k:
                return n
            document = self._chunks[one.number].document
            counts[document] = counts.get(document, 0) + 1
            found += counts[document] <= limit
        return len(candidates)

    def _few_per_document(self, candidates: Sequence[_Candidate], k: int) -> list[_Candidate]:
        """Keep the best chunks of each document, down to k."""
        limit = self.stages.per_document
        counts: dict[str, int] = {}
        kept: list[_Candidate] = []
        for one in candidates:
            document = self._chunks[one.number].document
            counts[document] = counts.get(document, 0) + 1
            if not limit or counts[document] <= limit:
                kept.append(one)
            if len(kept) == k:
                break
        return kept

    def _hit(self, one: _Candidate) -> Hit:
        chunk = self._chunks[one.number]
        return Hit(
            chunk.id,
            one.score,
            chunk.document,
            chunk.span,
            section=chunk.section,
            type=chunk.type,
            channels=one.channels,
            stages=one.stages,
        )

    def close(self) -> None:
        """Close the connections of a reranker that has any."""
        close = getattr(self._reranking and self._reranking.reranker, "close", None)
        if close is not None:
            close()


def _varied(how: Variety, index: VectorIndex, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Order candidates so that each adds to those before.

    The new scores are places, counted from the end: what made the order is no number of one hit.
    """
    if not candidates:
        return []
    scores = minmax([one.score for one in candidates])
    order = mmr(scores, index.rows([one.number for one in candidates]), balance=how.balance)
    return [
        replace(
            candidates[place],
            score=float(len(order) - rank),
            stages={**candidates[place].stages, "relevance": candidates[place].score},
        )
        for rank, place in enumerate(order)
    ]


class _Clock:
    """Milliseconds from lap to lap."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = (now - self._last) * 1000
        self._last = now
