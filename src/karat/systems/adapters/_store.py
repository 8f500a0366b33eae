"""What all stores share: the documents of a golden set in a new collection, vectors, and hits from what was found.

An adapter of a store says how to create a collection, add to it, search it and drop it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, Unpack
from uuid import uuid4

from karat.core import Document, Hit, InputError, SystemFailed, UsageError, did_you_mean, shorten
from karat.net import Secrets, find_version
from karat.systems._chunk import Chunk
from karat.systems._clock import Clock
from karat.systems._embedding import Embedding
from karat.systems._hits import Retrieved, read_hits
from karat.systems._stages import Stages
from karat.systems.adapters._paths import HitReader
from karat.systems.adapters._settings import StoreOptions
from karat.systems.chunk import make_chunker
from karat.systems.embed import Embedder, make_embedder

_BATCH = 500  # chunks that are added in one call
_PER_HIT = 3  # candidates for each requested hit: further chunks of the same document are dropped
_SHOWN = 20  # collections in a message
_FIELDS = ("id", "document", "content")
_NUMBER = re.compile("[0-9]{1,12}")


class Match(NamedTuple):
    """What a store found: its own id, if it has one, a score that is higher for a better match, and what it keeps."""

    id: str
    score: float
    fields: Mapping[str, Any] = {}


class Store(ABC):
    """A store as a system: it searches a collection, or the documents of the golden set in a new one."""

    name: ClassVar[str]
    """The name of its kind."""
    package: ClassVar[str] = ""
    """The distribution whose version is part of the description."""
    has_ids: ClassVar[bool] = True
    """Whether it has ids of its own, so that no field has to name a hit."""

    def __init__(self, *, embeds: bool = True, **options: Unpack[StoreOptions]) -> None:
        """``embeds`` is whether it is asked with vectors; otherwise it gets texts."""
        fresh, self.collection = options.get("ingest", False), options.get("collection", "")
        if fresh == bool(self.collection):
            raise UsageError(f"the system {self.name} needs either a collection to search, or ingest = true")
        self._stages = options.get("stages") or Stages()
        self._embedding = _make_embedding(options.get("embedder", self._stages.embedder)) if embeds else None
        self._where = options.get("where", "")
        self._fields: dict[str, str] = {name: str(options.get(name, "")) for name in _FIELDS}
        if not (fresh or self.has_ids or self._fields["id"] or self._fields["document"]):
            raise UsageError(f"the system {self.name} needs id or document: the field that names what was found")
        self._secrets = options.get("secrets") or Secrets()
        paths = {**self._fields, "id": self._fields["id"] or "_id", "score": "_score"}
        named = [name for name in ("id", "document") if self._fields[name]]
        self._reader = HitReader(paths, required=named, redact=self._secrets.redact)
        self._chunks: list[Chunk] = []
        self._documents: tuple[str, ...] = ()
        self._created = False
        self._closers: list[Callable[[], object]] = []
        self.ingest: Callable[[Sequence[Document]], None] | None = None
        self.document_ids: Callable[[], Iterable[str]] | None = None
        if fresh:
            self.collection = f"karat_{uuid4().hex[:12]}"
            self.ingest, self.document_ids = self._ingest, lambda: self._documents

    @abstractmethod
    def create(self, size: int) -> None:
        """Make the new collection, for vectors of a size; 0 if it holds texts only."""

    @abstractmethod
    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        """Add chunks, each with its number as its id; ``vectors`` is None if the store holds texts only."""

    @abstractmethod
    def search(self, question: Any, k: int) -> Iterable[Match]:
        """Return the best matches, best first; the question is a vector, or a text."""

    @abstractmethod
    def drop(self) -> None:
        """Remove the new collection."""

    @abstractmethod
    def list_collections(self) -> Iterable[str]:
        """Return the names of all collections."""

    def closing(self, close: Callable[[], object]) -> Self:
        """Return the store itself, which calls a function when it is closed."""
        self._closers.append(close)
        return self

    def ready(self) -> bool:
        """Return True; UsageError is raised if there is no such collection."""
        if self.ingest is None and self.collection not in (names := sorted(self.list_collections())):
            shown = ", ".join(map(shorten, names[:_SHOWN])) or "none"
            others = did_you_mean(self.collection, names) or f"; there are {shown}"
            message = f"[system] {self.name} has no collection {shorten(self.collection)}{others}"
            raise UsageError(self._secrets.redact(message))
        return True

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        fresh = self.ingest is not None
        described = {
            "kind": self.name,
            "where": self._where,
            "collection": "" if fresh else self.collection,
            **self._fields,
            "embedder": self._embedding and self._embedding.embedder.describe(),
            "version": find_version(self.package) if self.package else "",
        }
        if not fresh:
            return described
        stages = {"depth": self._stages.depth, "per_document": self._stages.per_document}
        return {**described, "chunk": make_chunker(self._stages.chunk).describe(), **stages}

    def retrieve(self, query: str, k: int) -> Retrieved:
        """Return the best hits, with the time of embedding and of the search."""
        clock, question = Clock(), query
        if self._embedding is not None:
            question, milliseconds = self._embedding.embed_question(query)
            clock.lap("embed", milliseconds)
        depth = max(self._stages.depth, _PER_HIT * k) if self.ingest else k
        matches = list(self.search(question, depth))
        clock.lap("search")
        hits = self._limit_per_document(matches, k) if self.ingest else self._read_matches(matches, k)
        return Retrieved(hits, clock.laps, clock.total())

    def close(self) -> None:
        """Drop what was created, and close what was opened."""
        try:
            if self._created:
                self._created = False
                self.drop()
        finally:
            if self._embedding is not None:
                self._embedding.close()
            while self._closers:
                self._closers.pop()()

    def _ingest(self, documents: Sequence[Document]) -> None:
        if not documents:
            raise InputError(
                "there is no document to index; the golden set holds none", hint="name them in [golden] documents"
            )
        self._documents = tuple(document.id for document in documents)
        chunker = make_chunker(self._stages.chunk)
        self._chunks = [chunk for document in documents for chunk in chunker(document)]
        texts = [chunk.text for chunk in self._chunks]
        vectors = self._embedding.embed_texts(texts) if self._embedding is not None else None
        self.create(0 if vectors is None else vectors.shape[1])
        self._created = True
        for start in range(0, len(texts), _BATCH):
            numbers = range(start, min(start + _BATCH, len(texts)))
            part = slice(numbers.start, numbers.stop)
            self.add(numbers, texts[part], None if vectors is None else vectors[part])

    def _read_matches(self, matches: Sequence[Match], k: int) -> Sequence[Hit]:
        records = [{**match.fields, "_id": match.id or None, "_score": match.score} for match in matches]
        return read_hits(self._secrets.redact_value(self._reader.read(records)), k)

    def _find_chunk(self, name: object) -> Chunk:
        """Return the chunk that was added under a number; SystemFailed if the store returns another id."""
        if isinstance(name, str) and _NUMBER.fullmatch(name) and int(name) < len(self._chunks):
            return self._chunks[int(name)]
        message = f"{self.name} returned the id {shorten(name)}, which is not among the {len(self._chunks):,} added"
        raise SystemFailed(self._secrets.redact(message))

    def _limit_per_document(self, matches: Sequence[Match], k: int) -> list[Hit]:
        """Return the first k hits, with no more chunks of one document than the built-in pipeline returns."""
        limit, counts, hits = self._stages.per_document, dict[str, int](), list[Hit]()
        for match in matches:
            chunk = self._find_chunk(match.id)
            counts[chunk.document] = counts.get(chunk.document, 0) + 1
            if not limit or counts[chunk.document] <= limit:
                hits.append(Hit(chunk.id, match.score, chunk.document, chunk.span, section=chunk.section))
        return hits[:k]


def _make_embedding(choice: str | Mapping[str, Any] | Embedder | Embedding) -> Embedding:
    if isinstance(choice, Embedding):
        return choice
    return Embedding(make_embedder(choice) if isinstance(choice, str | Mapping) else choice)
