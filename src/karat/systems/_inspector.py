"""Looking into the built-in pipeline: the list of every channel and after every stage, for one question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karat.core import Document
from karat.systems._candidates import Candidate, diversify
from karat.systems._chunk import Chunk
from karat.systems._pipeline import PER_HIT, Pipeline
from karat.systems.index import Dense, VectorIndex

Ranking = Sequence[tuple[int, float]]
"""The numbers of chunks with their scores, best first."""
RESULT = "result"
"""The name of the last list: what the pipeline returns."""
_COMBINED = frozenset({"lexical", "dense", "expand", "neighbours"})
"""What decides the candidates before the reranker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What every channel and every stage of the pipeline had for one question."""

    lists: Mapping[str, Ranking]
    """By channel or stage, in the order of the pipeline; the last one is ``result``."""
    chunks: Sequence[Chunk]
    channels: tuple[str, ...]

    def documents(self, name: str) -> list[str]:
        """Return the documents of a list, each at the place of its best chunk."""
        return list(dict.fromkeys(self.chunks[number].document for number, _ in self.lists.get(name, ())))


class Inspector:
    """Asks an ingested pipeline with parts of it off, and shows the list after every stage.

    Chunks, indexes and vectors are those of the pipeline. A question is embedded once, and each channel is searched
    once for it, however many parts are turned off after another. Until another question is asked, the same channels are
    fused once.

    >>> from karat.systems import Stages
    >>> pipeline = Pipeline(Stages(dense=False))
    >>> pipeline.ingest([Document(id="pool", text="The pool opens at six.")])
    >>> inspection = Inspector(pipeline).inspect("When does the pool open?", 5)
    >>> list(inspection.lists), inspection.documents("result")
    (['lexical', 'result'], ['pool'])
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.searches = 0
        """How often a channel was searched."""
        self._rankings: dict[tuple[str, str, int], list[tuple[int, float]]] = {}
        self._query = ""
        self._lists: dict[tuple[object, ...], tuple[dict[str, Ranking], list[Candidate]]] = {}
        self._questions: dict[str, Any] = {}
        self._exact: VectorIndex | None = None

    @property
    def chunks(self) -> Sequence[Chunk]:
        """The chunks of all documents, in order."""
        return self.pipeline.chunks

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that are on."""
        pipeline = self.pipeline
        return tuple(name for name, index in pipeline.indexes.items() if index is not None)

    @property
    def parts(self) -> tuple[str, ...]:
        """The channels and stages that can be turned off: those that are on, and leave a channel if they are off."""
        channels = self.channels if len(self.channels) > 1 else ()
        stages = self.pipeline.stages
        on = {
            "expand": stages.expand is not False,
            "neighbours": stages.neighbours is not False and "dense" in self.channels,
            "rerank": stages.rerank is not False,
            "mmr": stages.mmr is not False and "dense" in self.channels,
            "per_document": bool(stages.per_document),
        }
        return (*channels, *(name for name, is_on in on.items() if is_on))

    @property
    def is_approximate(self) -> bool:
        """Whether the dense channel searches a graph of neighbours, which may miss some."""
        index = self.pipeline.indexes["dense"]
        return index is not None and index.describe().get("kind") != "exact"

    def inspect(
        self, query: str, k: int, *, off: Collection[str] = (), exact: bool = False, depth: int | None = None
    ) -> Inspection:
        """Return the list of every channel and stage for a question, with the named parts off.

        With ``exact`` the dense channel compares every vector. ``depth`` is how many chunks each channel passes on, by
        default what the pipeline has for k hits.
        """
        pipeline = self.pipeline
        depth = depth or max(pipeline.stages.depth, PER_HIT * k)
        before, candidates = self._combine(query, depth, off, exact)
        lists = dict(before)
        if pipeline.reranking is not None and "rerank" not in off:
            has_words = "lexical" in lists
            candidates = pipeline.rerank(pipeline.reranking, query, candidates, k, has_words=has_words)
            lists["rerank"] = _pairs(candidates)
        vectors, variety = pipeline.indexes["dense"], pipeline.variety
        if vectors is not None and variety is not None and not {"mmr", "dense"} & {*off}:
            candidates = diversify(variety, vectors, candidates[: pipeline.find_depth(candidates, variety.depth, k)])
            lists["mmr"] = _pairs(candidates)
        limited = candidates[:k] if "per_document" in off else pipeline.limit_per_document(candidates, k)
        lists[RESULT] = _pairs(limited)
        channels = tuple(channel for channel in self.channels if channel in lists)
        return Inspection(lists=lists, chunks=pipeline.chunks, channels=channels)

    def _combine(
        self, query: str, depth: int, off: Collection[str], exact: bool
    ) -> tuple[dict[str, Ranking], list[Candidate]]:
        """Return the lists of the channels, of fusion and of neighbours, and the candidates that leave them."""
        off = {*off} & _COMBINED
        if query != self._query:  # only the last: the candidates of many questions are a load for the memory
            self._query, self._lists = query, {}
        key = (depth, frozenset(off), exact)
        if key not in self._lists:
            self._lists[key] = self._combine_now(query, depth, off, exact)
        return self._lists[key]

    def _combine_now(
        self, query: str, depth: int, off: Collection[str], exact: bool
    ) -> tuple[dict[str, Ranking], list[Candidate]]:
        pipeline, neighbours = self.pipeline, self.pipeline.neighbours
        rankings = {
            channel: self._search(channel, query, depth, exact=exact, expand="expand" not in off)
            for channel in self.channels
            if channel not in off
        }
        lists: dict[str, Ranking] = dict(rankings)
        candidates = pipeline.fuse(rankings) if rankings else []
        if len(rankings) > 1:
            lists["fusion"] = _pairs(candidates)
        similar = pipeline.similarities
        if similar is not None and neighbours is not None and not {"neighbours", "dense"} & {*off}:
            candidates = list(pipeline.share(neighbours, similar, candidates))
            lists["neighbours"] = _pairs(candidates)
        return lists, candidates

    def _search(self, channel: str, query: str, depth: int, *, exact: bool, expand: bool) -> list[tuple[int, float]]:
        name = "exact" if exact and channel == "dense" else "plain" if channel == "lexical" and not expand else channel
        key = (name, query, depth)
        if key not in self._rankings:
            self.searches += 1
            self._rankings[key] = self._search_now(name, query, depth)
        return self._rankings[key]

    def _search_now(self, name: str, query: str, depth: int) -> list[tuple[int, float]]:
        words, vectors = self.pipeline.indexes["lexical"], self.pipeline.indexes["dense"]
        if name in ("lexical", "plain"):
            assert words is not None
            return words.search(query, depth) if name == "plain" else self.pipeline.search_words(words, query, depth)
        assert vectors is not None
        if query not in self._questions:
            self._questions[query] = self.pipeline.embed_question(query)
        index = self._exact_index(vectors) if name == "exact" else vectors
        return index.search(self._questions[query], depth)

    def _exact_index(self, vectors: VectorIndex) -> VectorIndex:
        if self._exact is None:
            rows = vectors.rows(range(len(self.chunks)))
            self._exact = Dense(method="exact").build(np.asarray(rows))
        return self._exact

    def rebuild(self, documents: Sequence[Document], name: str, **changes: Any) -> Inspector:
        """Return an inspector of the same pipeline with other stages, such as another chunker.

        It shares the embedder and the vectors of questions. ``name`` is the folder of its indexes within the cache.
        """
        pipeline = self.pipeline.derive(name, **changes)
        pipeline.ingest(documents)
        other = Inspector(pipeline)
        other._questions = self._questions
        return other

    def extend(self, documents: Sequence[Document]) -> Inspector:
        """Return an inspector of the same pipeline with more documents, which shares the vectors of questions."""
        other = Inspector(self.pipeline.extend(documents))
        other._questions = self._questions
        return other


def _pairs(candidates: Sequence[Candidate]) -> list[tuple[int, float]]:
    return [candidate[:2] for candidate in candidates]
