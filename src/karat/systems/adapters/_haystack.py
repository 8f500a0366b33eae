"""Retrievers of Haystack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from karat.core import UsageError
from karat.systems._embedding import Embedding
from karat.systems.adapters._retrievers import FrameworkRetriever, RetrieverSettings, takes
from karat.systems.adapters._settings import Surroundings
from karat.systems.embed import Embedder, make_embedder


class Haystack(FrameworkRetriever):
    """A retriever of Haystack: a component whose ``run`` takes a query, or its embedding, and returns documents."""

    name = "haystack"
    package = "haystack-ai"

    def __init__(
        self,
        retriever: Any,
        *,
        embedder: str | Mapping[str, Any] | Embedder | Embedding = "granite",
        **options: Any,
    ) -> None:
        """``embedder`` embeds the question for a retriever that takes a ``query_embedding``."""
        super().__init__(retriever, **options)
        self._embedding: Embedding | None = None
        if takes(retriever.run, "query_embedding") and not takes(retriever.run, "query"):
            embedding = make_embedder(embedder) if isinstance(embedder, str | Mapping) else embedder
            self._embedding = embedding if isinstance(embedding, Embedding) else Embedding(embedding)

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "embedder": self._embedding and self._embedding.embedder.describe()}

    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:
        question: dict[str, Any] = {"query": query}
        if self._embedding is not None:
            question = {"query_embedding": self._embedding.embedder([query])[0].tolist()}
        if takes(self._retriever.run, "top_k"):
            question["top_k"] = k
        for document in self._retriever.run(**question)["documents"]:
            yield {**document.meta, "_id": document.id, "_score": document.score}


class HaystackSettings(RetrieverSettings):
    """The table ``[system]`` with ``kind = "haystack"``."""

    kind, module = Haystack, "haystack"

    def make(self, retriever: Any, around: Surroundings, **named: str) -> FrameworkRetriever:
        """Return the system of a component, with the embedder of the project."""
        if not callable(getattr(retriever, "run", None)):
            raise UsageError(f"[system] retriever {self.retriever} has no run(); name a component of Haystack")
        return Haystack(retriever, embedder=around.make_embedding(), **named)
