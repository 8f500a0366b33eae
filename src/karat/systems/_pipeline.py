"""The built-in pipeline: chunk, embed, index, retrieve and fuse; each stage a value, and all of them one system."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from karat.core import Document, Hit, SystemFailed, UsageError, did_you_mean
from karat.systems._chunk import Chunk
from karat.systems._fuse import Fused, Fusion
from karat.systems._protocol import Retrieved
from karat.systems.chunk import chunker
from karat.systems.embed import ModelMissing, cached, embedder
from karat.systems.index import Dense, Lexical

CHUNK = {"name": "sentence", "size": 512, "overlap": 50, "context": "title"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What the pipeline is made of, as ``[pipeline]`` in karat.toml has it; ``False`` turns a channel off."""

    chunk: str | Mapping[str, Any] = field(default_factory=lambda: dict(CHUNK))
    lexical: bool | Mapping[str, Any] = True
    """BM25: k1, b, stemmer, stop_words."""
    dense: bool | Mapping[str, Any] = True
    """The index of vectors: index, threshold and what the graph needs."""
    embedder: str | Mapping[str, Any] = "granite"
    fusion: Mapping[str, Any] = field(default_factory=dict)
    """method, k, weights, norm."""
    depth: int = 100
    """How many chunks each channel gives to the fusion."""
    per_document: int = 1
    """How many chunks of one document may be among the hits; 0 for any number."""

    def __post_init__(self) -> None:
        if self.lexical is False and self.dense is False:
            raise UsageError("[pipeline] lexical and dense are both off; one of them has to search")
        for name, least in (("depth", 1), ("per_document", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"[pipeline] {name} = {value!r}; choose a whole number from {least} up")

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Stages:
        """Take a table of a configuration; a key that is unknown is a mistake."""
        known = [one.name for one in fields(cls)]
        for key in table:
            if key not in known:
                raise UsageError(
                    f"[pipeline] has no key {key!r}{did_you_mean(key, known) or '; it has ' + ', '.join(known)}"
                )
        return cls(**table)


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
        self, stages: Stages | None = None, *, cache: Path | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        self.stages = stages or Stages()
        self._say = say or (lambda _: None)
        self._chunker = chunker(self.stages.chunk)
        self._fusion = Fusion(**self.stages.fusion)
        self._lexical = _options(Lexical, self.stages.lexical)
        self._dense = _options(Dense, self.stages.dense)
        self._embedder: Any = self._find_embedder(cache) if self._dense else None
        self._chunks: Sequence[Chunk] = ()
        self._documents: tuple[str, ...] = ()
        self._channels: dict[str, Any] = {}

    def _find_embedder(self, cache: Path | None) -> Any:
        """Find the embedder; without the model the lexical channel works alone, and it is said how to get the other."""
        try:
            found = embedder(self.stages.embedder)
        except ModelMissing as error:
            if self._lexical is None:
                raise
            self._say(f"lexical channel only: {error}")
            return None
        return found if cache is None else cached(found, cache / "embeddings.sqlite", say=self._say)

    def describe(self) -> dict[str, Any]:
        """Give all that decides what is found."""
        return {
            "kind": "pipeline",
            "chunk": self._chunker.describe(),
            "lexical": self._lexical and self._lexical.describe(),
            "embedder": self._embedder and self._embedder.describe(),
            "dense": None if self._embedder is None else _plain(self._dense),
            "fusion": self._fusion.describe(),
            "depth": self.stages.depth,
            "per_document": self.stages.per_document,
        }

    def ingest(self, documents: Sequence[Document]) -> None:
        """Take in the documents: cut, embed and index them."""
        if not documents:
            raise SystemFailed("there is no document to index; the golden set holds none")
        self._documents = tuple(document.id for document in documents)
        self._chunks = [chunk for document in documents for chunk in self._chunker(document)]
        texts = [chunk.text for chunk in self._chunks]
        self._channels = {}
        if self._lexical is not None:
            self._channels["lexical"] = self._lexical.build(texts)
        if self._embedder is not None:
            self._channels["dense"] = self._dense.build(self._embedder(texts))

    def document_ids(self) -> Iterable[str]:
        """Give the documents that it holds."""
        return self._documents

    def retrieve(self, query: str, k: int) -> Retrieved:
        """Give the best chunks, with the channels that found them and the time that each stage took."""
        clock = _Clock()
        found: dict[str, list[tuple[int, float]]] = {}
        if "lexical" in self._channels:
            found["lexical"] = self._channels["lexical"].search(query, self.stages.depth)
            clock.lap("lexical")
        if "dense" in self._channels:
            vector = self._embedder([query])
            clock.lap("embed")
            found["dense"] = self._channels["dense"].search(vector[0], self.stages.depth)
            clock.lap("dense")
        fused = self._fusion(found)
        hits = [self._hit(one) for one in self._few_per_document(fused, k)]
        clock.lap("fusion")
        return Retrieved(hits, clock.laps)

    def _few_per_document(self, fused: Sequence[Fused[int]], k: int) -> list[Fused[int]]:
        """Keep the best chunks of each document, down to k."""
        limit = self.stages.per_document
        counts: dict[str, int] = {}
        kept: list[Fused[int]] = []
        for one in fused:
            document = self._chunks[one.id].document
            counts[document] = counts.get(document, 0) + 1
            if not limit or counts[document] <= limit:
                kept.append(one)
            if len(kept) == k:
                break
        return kept

    def _hit(self, one: Fused[int]) -> Hit:
        chunk = self._chunks[one.id]
        return Hit(
            chunk.id,
            one.score,
            chunk.document,
            chunk.span,
            section=chunk.section,
            type=chunk.type,
            channels=one.channels,
        )


class _Clock:
    """Milliseconds from lap to lap."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = (now - self._last) * 1000
        self._last = now


def _options(kind: Any, chosen: bool | Mapping[str, Any]) -> Any:
    """Make a stage of its options; None where it is off."""
    if chosen is False:
        return None
    table = {} if chosen is True else dict(chosen)
    known = [one.name for one in fields(kind)]
    for key in table:
        if key not in known:
            raise UsageError(f"[pipeline.{kind.__name__.lower()}] has no key {key!r}{did_you_mean(key, known)}")
    return kind(**table)


def _plain(stage: Any) -> dict[str, Any]:
    return {one.name: getattr(stage, one.name) for one in fields(stage)}
