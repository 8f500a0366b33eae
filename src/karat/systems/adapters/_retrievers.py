"""Retrievers of LangChain, LlamaIndex and Haystack, whatever stands behind them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from karat.core import Hit, UsageError
from karat.net import find_version, require_package
from karat.systems._code import hash_code
from karat.systems._embedding import Embedding
from karat.systems._hits import read_hits
from karat.systems._loading import load
from karat.systems._protocol import describe_path
from karat.systems.adapters._paths import HitReader
from karat.systems.adapters._store import Surroundings
from karat.systems.embed import Embedder, make_embedder


class FrameworkRetriever(ABC):
    """A retriever of a framework as a system; ``id`` and ``document`` are fields of what it keeps with a text."""

    name: ClassVar[str]
    package: ClassVar[str]

    def __init__(self, retriever: Any, *, id: str = "", document: str = "", path: str = "") -> None:
        """``path`` is the ``package.module:name`` that the retriever was loaded from, if it was."""
        self._retriever, self._path = retriever, path
        self._names = {"id": id, "document": document}
        paths = {"id": id or "_id", "document": document or "_document", "score": "_score"}
        self._reader = HitReader(paths, required=[name for name, field in self._names.items() if field])

    @abstractmethod
    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:
        """Return a record for each hit: the fields kept with it, ``_id``, and perhaps ``_document`` and ``_score``."""

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found, with the hash of your own code."""
        kind = type(self._retriever)
        source = hash_code(dict.fromkeys((self._path.partition(":")[0], kind.__module__)), kind)
        return {
            "kind": self.name,
            "retriever": self._path or describe_path(self._retriever),
            **self._names,
            "version": find_version(self.package),
            **({"source": source} if source else {}),
        }

    def retrieve(self, query: str, k: int) -> tuple[Hit, ...]:
        """Return the first k hits of the retriever."""
        return read_hits(self._reader.read(list(self.search(query, k))), k)


class LangChain(FrameworkRetriever):
    """A retriever of LangChain: a ``BaseRetriever``, or anything whose ``invoke`` returns documents.

    It is asked for k documents if it takes a ``k``, as those of vector stores do; others decide themselves.
    """

    name = "langchain"
    package = "langchain-core"

    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:
        options = {"k": k} if _takes(getattr(self._retriever, "_get_relevant_documents", None), "k") else {}
        for document in self._retriever.invoke(query, **options):
            yield {**document.metadata, "_id": document.id}


class LlamaIndex(FrameworkRetriever):
    """A retriever of LlamaIndex: a ``BaseRetriever``, which returns as many nodes as it was made for.

    A node belongs to the document that it was cut from, unless ``document`` names a field of its metadata.
    """

    name = "llama-index"
    package = "llama-index-core"

    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:  # noqa: ARG002 (similarity_top_k is its own)
        for match in self._retriever.retrieve(query):
            node = match.node
            yield {**node.metadata, "_id": node.node_id, "_document": node.ref_doc_id, "_score": match.score}


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
        if _takes(retriever.run, "query_embedding") and not _takes(retriever.run, "query"):
            made = make_embedder(embedder) if isinstance(embedder, str | Mapping) else embedder
            self._embedding = made if isinstance(made, Embedding) else Embedding(made)

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "embedder": self._embedding and self._embedding.embedder.describe()}

    def search(self, query: str, k: int) -> Iterable[Mapping[str, Any]]:
        question: dict[str, Any] = {"query": query}
        if self._embedding is not None:
            question = {"query_embedding": self._embedding.embedder([query])[0].tolist()}
        if _takes(self._retriever.run, "top_k"):
            question["top_k"] = k
        for document in self._retriever.run(**question)["documents"]:
            yield {**document.meta, "_id": document.id, "_score": document.score}


@dataclass(frozen=True, kw_only=True)
class RetrieverSettings:
    """The table ``[system]`` with the kind of a framework."""

    kind: ClassVar[type[FrameworkRetriever]]
    module: ClassVar[str]
    retriever: str
    """``package.module:name`` of the retriever, or of a class or function without parameters that makes it."""
    id: str = ""
    document: str = ""

    def connect(self, around: Surroundings) -> FrameworkRetriever:
        """Load the retriever."""
        require_package(self.module, purpose=f"the system {self.kind.name}", extra=self.kind.name)
        retriever = load(self.retriever)
        named: dict[str, Any] = {"id": self.id, "document": self.document, "path": self.retriever}
        if self.kind is not Haystack:
            return self.kind(retriever, **named)
        if not callable(getattr(retriever, "run", None)):
            raise UsageError(f"[system] retriever {self.retriever} has no run(); name a component of Haystack")
        return Haystack(retriever, embedder=around.make_embedding(), **named)


class LangChainSettings(RetrieverSettings):
    """The table ``[system]`` with ``kind = "langchain"``."""

    kind, module = LangChain, "langchain_core"


class LlamaIndexSettings(RetrieverSettings):
    """The table ``[system]`` with ``kind = "llama-index"``."""

    kind, module = LlamaIndex, "llama_index.core"


class HaystackSettings(RetrieverSettings):
    """The table ``[system]`` with ``kind = "haystack"``."""

    kind, module = Haystack, "haystack"


def _takes(function: Any, name: str) -> bool:
    """Whether a function takes a parameter, by its name or among any others."""
    if function is None:
        return False
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
