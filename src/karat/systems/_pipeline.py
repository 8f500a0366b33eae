"""The built-in pipeline: chunk, embed, index, retrieve, fuse and rerank, as one system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from karat.core import Answer, Document, Hit, InputError, Place, Stage, UsageError, did_you_mean, shorten
from karat.systems._candidates import Candidate, diversify, make_candidate, make_candidates
from karat.systems._chunk import Chunk
from karat.systems._clock import Clock
from karat.systems._embedding import Embedding, Progress
from karat.systems._expand import QueryExpansion
from karat.systems._fuse import Fusion, find_places, minmax
from karat.systems._hits import Retrieved
from karat.systems._kept_chunks import Chunks, fingerprint_chunks
from karat.systems._mmr import Variety
from karat.systems._neighbours import Neighbours, Similarities, spread_scores
from karat.systems._stages import FUSION, Stages, build, build_stage
from karat.systems.answer import Passage, make_answerer
from karat.systems.chunk import make_chunker
from karat.systems.embed import ModelMissing, make_embedder
from karat.systems.index import Dense, Lexical, LexicalIndex, VectorIndex, fingerprint

if TYPE_CHECKING:
    from karat.systems.rerank import Reranking

Kept = TypeVar("Kept", Chunks, LexicalIndex, VectorIndex)
_CHANNELS = ("lexical", "dense")
PER_HIT = 3  # candidates for each requested hit: further chunks of the same document are dropped


class Indexes(TypedDict):
    """The index of each channel; None for one that is off."""

    lexical: LexicalIndex | None
    dense: VectorIndex | None


class Pipeline:
    """A retriever over documents that are ingested once.

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
        """With ``cache``, a folder, chunks and indexes are kept there, and embeddings in the user's own cache."""
        self.stages = stages or Stages()
        self._cache, self._say = cache, say or (lambda _: None)
        self._progress = progress or (lambda *_: None)
        self._chunker = make_chunker(self.stages.chunk)
        self._fusion = build(Fusion, {**FUSION, **self.stages.fusion}, "pipeline.fusion")
        for channel in self._fusion.weights:
            if channel not in _CHANNELS:
                raise UsageError(
                    f"[pipeline.fusion] weights names {shorten(channel)}, which is not a channel"
                    f"{did_you_mean(channel, _CHANNELS) or '; there are ' + ' and '.join(_CHANNELS)}"
                )
        self._lexical = build_stage(Lexical, self.stages.lexical, "lexical")
        self._expand = build_stage(QueryExpansion, self.stages.expand, "expand")
        self._dense = build_stage(Dense, True if self.stages.dense is None else self.stages.dense, "dense")
        self.neighbours = build_stage(Neighbours, self.stages.neighbours, "neighbours")
        self.variety = build_stage(Variety, self.stages.mmr, "mmr")
        self.reranking = self._make_reranking()
        self._answerer = make_answerer(self.stages.answer, cache=cache, say=self._say)
        self._embedding = self._make_embedding() if self._dense else None
        self._chunks: Sequence[Chunk] = ()
        self._by_id: Mapping[str, Chunk] = {}
        self._documents: tuple[str, ...] = ()
        self._words: LexicalIndex | None = None
        self._rarity: LexicalIndex | None = None
        self._vectors: VectorIndex | None = None
        self._similarities: Similarities | None = None

    def _make_reranking(self) -> Reranking | None:
        if not isinstance(self.stages.rerank, Mapping):
            return None
        from karat.systems.rerank import make_reranking

        return make_reranking(self.stages.rerank, best_per_document=self.stages.per_document == 1)

    def _make_embedding(self) -> Embedding | None:
        """Return the embedder; None, with a message, if its model is missing and nobody asked for the channel."""
        cache = self.stages.embedding_cache if self._cache is not None else False
        try:
            embedder = make_embedder(self.stages.embedder)
        except ModelMissing as error:
            needed = self.variety is not None or self.neighbours is not None
            if self.stages.dense is not None or self._lexical is None or needed:
                raise
            self._say(f"lexical channel only: {error}; dense = false in [pipeline] turns the other one off for good")
            return None
        return Embedding(embedder, cache=cache, say=self._say, progress=self._progress)

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is retrieved and answered."""
        return {
            "kind": "pipeline",
            "chunk": self._chunker.describe(),
            "lexical": self._lexical and self._lexical.describe(),
            "expand": self._expand and self._expand.describe(),
            "embedder": self._embedding and self._embedding.embedder.describe(),
            "dense": self._dense.describe() if self._dense and self._embedding else None,
            "fusion": self._fusion.describe(),
            # Absent while it is off, so that the fingerprints of older runs stay valid.
            **({"neighbours": self.neighbours.describe()} if self.neighbours else {}),
            **({"answer": self._answerer.describe()} if self._answerer else {}),
            "rerank": self.reranking and self.reranking.describe(),
            "mmr": self.variety and self.variety.describe(),
            "depth": self.stages.depth,
            "per_document": self.stages.per_document,
        }

    def ingest(self, documents: Sequence[Document]) -> None:
        """Chunk, embed and index the documents."""
        if not documents:
            raise InputError(
                "there is no document to index; the golden set holds none", hint="name them in [golden] documents"
            )
        self._documents = tuple(document.id for document in documents)
        how = fingerprint_chunks(self._chunker.describe(), documents) if self._cache is not None else ""
        chunks = self._load_or_build("chunks", how, Chunks.load, lambda: self._cut(documents))
        self._chunks = chunks
        self._by_id = {chunk.id: chunk for chunk in chunks} if self._answerer else {}
        texts = [chunk.text for chunk in chunks]
        if (lexical := self._lexical or (Lexical() if self._answerer else None)) is not None:
            how = fingerprint(lexical.describe(), texts)
            self._rarity = self._load_or_build("lexical", how, lexical.load, lambda: lexical.build(texts))
            self._words = self._rarity if self._lexical else None  # an answerer needs the index without the channel
        if (dense := self._dense) is not None and (embedding := self._embedding) is not None:
            how = fingerprint({"embedder": embedding.embedder.name, **dense.describe()}, texts)
            self._vectors = self._load_or_build(
                "dense",
                how,
                lambda p, f: dense.load(p, f, size=len(texts)),
                lambda: dense.build(embedding.embed_texts(texts)),
            )
            self._similarities = Similarities(self._vectors)

    def _cut(self, documents: Sequence[Document]) -> Chunks:
        chunks: list[Chunk] = []
        for done, document in enumerate(documents, 1):
            chunks += self._chunker(document)
            if not done % 1000 or done == len(documents):
                self._progress("cutting", done, len(documents))
        return Chunks(chunks)

    def _load_or_build(self, name: str, how: str, load: Callable[[Path, str], Kept], build: Callable[[], Kept]) -> Kept:
        """Return what the cache holds if it was built from the same in the same way; else build and keep it."""
        if self._cache is None:
            return build()
        path = self._cache / f"{name}.index"
        try:
            return load(path, how)
        except InputError:  # there is none, it is of something else, or it is damaged
            value = build()
        try:
            value.save(path, how)
        except InputError as error:
            self._say(f"the {name} index is not kept: {error}")
        return value

    def document_ids(self) -> Iterable[str]:
        """Return the ids of the ingested documents."""
        return self._documents

    def retrieve(self, query: str, k: int) -> Retrieved:
        """Return the best chunks, with the channels that found them and the time that each stage took."""
        clock = Clock()
        depth = max(self.stages.depth, PER_HIT * k)
        rankings: dict[str, list[tuple[int, float]]] = {}
        if self._words is not None:
            rankings["lexical"] = self.search_words(self._words, query, depth)
            clock.lap("lexical")
        if self._vectors is not None and self._embedding is not None:
            vector, milliseconds = self._embedding.embed_question(query)
            clock.lap("embed", milliseconds)
            rankings["dense"] = self._vectors.search(vector, depth)
            clock.lap("dense")
        candidates: Iterable[Candidate] = self.fuse(rankings)
        clock.lap("fusion")
        if self._similarities is not None and self.neighbours is not None:
            candidates = self.share(self.neighbours, self._similarities, [*candidates])
            clock.lap("neighbours")
        if self.reranking is not None:
            candidates = self.rerank(self.reranking, query, [*candidates], k, has_words=self._words is not None)
            clock.lap("rerank")
        if self._vectors is not None and self.variety is not None:
            ordered = [*candidates]
            depth = self.find_depth(ordered, self.variety.depth, k)
            candidates = diversify(self.variety, self._vectors, ordered[:depth])
            clock.lap("mmr")
        best = self.limit_per_document(candidates, k)
        places = find_places(rankings, [candidate.number for candidate in best])
        hits = [self._hit(candidate, places[candidate.number]) for candidate in best]
        total = clock.total()
        return Retrieved(hits, clock.laps, total, stages=self._record(rankings, k))

    @property
    def answer(self) -> Callable[[str, int], Answer] | None:
        """Retrieves and answers a question; None if the stage is off, and the pipeline only retrieves."""
        return self._answer if self._answerer is not None else None

    @property
    def recalls(self) -> bool:
        """Whether answers come from a cache if they were asked for before."""
        return getattr(self._answerer, "cache", None) is not None

    def _answer(self, query: str, k: int) -> Answer:
        assert self._answerer is not None
        assert self._rarity is not None
        retrieved = self.retrieve(query, k)
        clock = Clock()
        passages = [Passage.of(hit, self._by_id[hit.id]) for hit in retrieved.hits[: self._answerer.hits]]
        answer = self._answerer(query, passages, self._rarity)
        clock.lap("answer", answer.hits.milliseconds if isinstance(answer.hits, Retrieved) else None)
        total = None if retrieved.milliseconds is None else retrieved.milliseconds + clock.total()
        timed = replace(retrieved, timings={**retrieved.timings, **clock.laps}, milliseconds=total)
        return replace(answer, hits=timed)

    def _record(self, rankings: Mapping[str, list[tuple[int, float]]], k: int) -> tuple[Stage, ...]:
        """Return the hits that each of several channels would give alone: a report tells what each of them is worth."""
        stages = []
        for name, ranking in rankings.items() if len(rankings) > 1 else ():
            alone = self.limit_per_document(make_candidates(ranking), k)
            hits = tuple(self._hit(candidate, {}) for candidate in alone)
            stages.append(Stage(name="candidate", channel=name, hits=hits))
        return tuple(stages)

    @property
    def chunks(self) -> Sequence[Chunk]:
        """The chunks of the ingested documents."""
        return self._chunks

    @property
    def indexes(self) -> Indexes:
        """The index of each channel; None for one that is off."""
        return Indexes(lexical=self._words, dense=self._vectors)

    @property
    def similarities(self) -> Similarities | None:
        """How alike the chunks are; None without the dense channel."""
        return self._similarities

    def derive(self, name: str, **changes: Any) -> Pipeline:
        """Return a pipeline with other stages, and the same embedder; its indexes are kept in a folder of the cache."""
        other = copy(self)
        other.stages = replace(self.stages, **changes)
        other._cache = None if self._cache is None else self._cache / name
        other._chunker = make_chunker(other.stages.chunk)
        other._chunks, other._documents, other._words = (), (), None
        other._vectors = other._similarities = None
        return other

    def extend(self, documents: Sequence[Document]) -> Pipeline:
        """Return an ingested pipeline with more documents, as if it had been given all of them.

        Only they are cut and embedded. The words of all are indexed again, because how rare a word is depends on every
        document. Nothing is kept on disk.
        """
        other = copy(self)
        added = self._cut(documents)
        other._cache = None
        other._chunks = chunks = Chunks((*self._chunks, *added))
        other._documents = (*self._documents, *(document.id for document in documents))
        other._by_id = {chunk.id: chunk for chunk in chunks} if self._answerer else {}
        if self._rarity is not None:
            other._rarity = self._rarity.analysis.build([chunk.text for chunk in chunks])
            other._words = other._rarity if self._lexical else None
        if self._dense is not None and self._vectors is not None and self._embedding is not None and added:
            rows = self._embedding.embed_texts([chunk.text for chunk in added])
            known = self._vectors.rows(range(len(self._chunks)))
            other._vectors = self._dense.build(np.concatenate([known, rows]))
            other._similarities = Similarities(other._vectors)
        return other

    def embed_question(self, query: str) -> Any:
        """Return the vector of a question."""
        assert self._embedding is not None
        return self._embedding.embed_question(query)[0]

    def search_words(self, index: LexicalIndex, query: str, depth: int) -> list[tuple[int, float]]:
        """Search the lexical index, with query expansion if that is on."""
        if self._expand is None:
            return index.search(query, depth)
        return self._expand.search(index, lambda number: self._chunks[number].text, query, depth)

    def fuse(self, rankings: Mapping[str, list[tuple[int, float]]]) -> list[Candidate]:
        """Return the fused channels as candidates; a single channel keeps its own scores."""
        (ranking, *others) = rankings.values()
        return list(make_candidates(self._fusion.rank(rankings) if others else ranking))

    def share(self, how: Neighbours, index: Similarities, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
        """Let the first candidates share their scores with their neighbours, and yield all; the others stay below them.

        No shared score is lower than the lowest that was shared, so all are in order.
        """
        if not candidates:
            return iter(())
        numbers, fused, _ = zip(*candidates, strict=True)
        scores = minmax(fused)
        first = min(how.depth, len(candidates))
        similar = index.among(numbers[:first])
        scores[:first] = spread_scores(scores[:first], similar, weight=how.weight, count=how.count).tolist()
        order = sorted(range(first), key=scores.__getitem__, reverse=True)  # stable: equal ones keep their order
        return (
            make_candidate((numbers[place], scores[place], {"fusion": fused[place]}))
            for place in (*order, *range(first, len(candidates)))
        )

    def rerank(
        self, how: Reranking, query: str, candidates: Sequence[Candidate], k: int, *, has_words: bool
    ) -> list[Candidate]:
        """Let the reranker read the first candidates, and drop the others.

        ``has_words`` says whether the lexical channel is among those that the candidates come from.
        """
        read = candidates[: self.find_depth(candidates, how.depth, k)]
        if not read:
            return []
        chunks = [self._chunks[candidate.number] for candidate in read]
        scores = how.reranker(query, chunks)
        # A cosine is on the reranker's scale already; sums of ranks and BM25 are not.
        own = [candidate.score for candidate in read]
        similarities = minmax(own) if has_words else own
        mixed = how.mix(similarities, scores, [chunk.document for chunk in chunks], len(read))
        return [
            read[hit.place]._replace(
                score=hit.combined,
                stages={**read[hit.place].stages, "retrieval": read[hit.place].score, "rerank": hit.rerank},
            )
            for hit in mixed
        ]

    def find_depth(self, candidates: Sequence[Candidate], depth: int, k: int) -> int:
        """Return how many candidates to look at: ``depth``, or more if k hits need more."""
        limit = self.stages.per_document or len(candidates)
        counts: dict[str, int] = {}
        hits = 0
        for n, candidate in enumerate(candidates):
            if n >= depth and hits >= k:
                return n
            document = self._chunks[candidate.number].document
            counts[document] = counts.get(document, 0) + 1
            hits += counts[document] <= limit
        return len(candidates)

    def limit_per_document(self, candidates: Iterable[Candidate], k: int) -> list[Candidate]:
        """Return the first k candidates, with no more chunks of one document than configured."""
        limit = self.stages.per_document
        counts: dict[str, int] = {}
        best: list[Candidate] = []
        for candidate in candidates:
            document = self._chunks[candidate.number].document
            counts[document] = counts.get(document, 0) + 1
            if not limit or counts[document] <= limit:
                best.append(candidate)
            if len(best) == k:
                break
        return best

    def _hit(self, candidate: Candidate, channels: Mapping[str, Place]) -> Hit:
        chunk = self._chunks[candidate.number]
        return Hit(
            chunk.id,
            candidate.score,
            chunk.document,
            chunk.span,
            section=chunk.section,
            type=chunk.type,
            channels=channels,
            stages=dict(candidate.stages),
        )

    def close(self) -> None:
        """Close what the reranker and the answerer have open, and keep the vectors of the questions."""
        if self._embedding is not None:
            self._embedding.close()
        for stage in (self.reranking and self.reranking.reranker, self._answerer):
            getattr(stage, "close", lambda: None)()
