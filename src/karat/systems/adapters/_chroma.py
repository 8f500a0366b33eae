"""Chroma: a server, a folder, or the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack
from urllib.parse import urlsplit

from karat.core import UsageError
from karat.net import Endpoint, collect_secrets, require_package
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings, refuse_login
from karat.systems.adapters._store import Match, Store


class Chroma(Store):
    """A collection of Chroma, by one of its clients."""

    name = "chroma"
    package = "chromadb"

    def __init__(
        self, client: Any, *, own_embedder: Any = False, search_width: int = 0, **options: Unpack[StoreOptions]
    ) -> None:
        """With ``own_embedder`` the collection embeds the questions itself, with the function it was made with.

        It is True, or that function, if Chroma cannot make it anew by itself.
        ``search_width`` is that of the graph of a new collection (HNSW's ef): the more, the nearer to exact search.
        """
        super().__init__(embeds=own_embedder is False, **options)
        if self.ingest and own_embedder is not False:
            raise UsageError("the system chroma ingests what karat embeds; remove own_embedder, or name a collection")
        self._client, self._collection, self._search_width = client, None, search_width
        self._function = {} if isinstance(own_embedder, bool) else {"embedding_function": own_embedder}

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "own_embedder": self._embedding is None, "search_width": self._search_width}

    def list_collections(self) -> Iterable[str]:
        return [collection.name for collection in self._client.list_collections()]

    def create(self, size: int) -> None:  # noqa: ARG002 (Chroma takes it from the first vector)
        width = {"ef_search": self._search_width} if self._search_width else {}
        graph = {"hnsw": {"space": "cosine", **width}}
        self._collection = self._client.create_collection(self.collection, configuration=graph, embedding_function=None)

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        self._open().add(ids=list(map(str, numbers)), embeddings=vectors, documents=list(texts))

    def search(self, question: Any, k: int) -> Iterable[Match]:
        terms = {"query_texts": [question]} if isinstance(question, str) else {"query_embeddings": [question]}
        answer = self._open().query(**terms, n_results=k, include=["metadatas", "documents", "distances"])
        columns = (answer[name][0] for name in ("ids", "distances", "metadatas", "documents"))
        for name, distance, metadata, text in zip(*columns, strict=True):
            yield Match(name, -distance, {"text": text, **(metadata or {})})

    def drop(self) -> None:
        self._client.delete_collection(self.collection)

    def _open(self) -> Any:
        if self._collection is None:
            self._collection = self._client.get_collection(self.collection, **self._function)
        return self._collection


@dataclass(frozen=True, kw_only=True)
class ChromaSettings(StoreSettings):
    """The table ``[system]`` with ``kind = "chroma"``; without ``url`` and ``path`` it is in memory."""

    url: str = ""
    path: str = ""
    """The folder of a local database."""
    key_variable: str = ""
    """The environment variable that holds the key of the server, which is sent as a bearer token."""
    own_embedder: bool = False
    search_width: int = 0

    def connect(self, around: Surroundings) -> Chroma:
        """Connect to the server, or open the folder."""
        if self.url and self.path:
            raise UsageError("[system] has both url and path; remove one of them")
        chromadb = require_package("chromadb", purpose="the system chroma", extra="chroma")
        quiet = chromadb.config.Settings(anonymized_telemetry=False)
        secrets, where = None, self.path
        if self.url:
            endpoint = Endpoint(url=self.url, key_variable=self.key_variable)
            refuse_login(self.url, "chroma")
            where, headers = endpoint.name, endpoint.read_headers()
            secrets = collect_secrets(self.url, headers)
            parts = urlsplit(self.url)
            port, ssl = parts.port or (443 if parts.scheme == "https" else 80), parts.scheme == "https"
            client = chromadb.HttpClient(host=parts.hostname, port=port, ssl=ssl, headers=headers, settings=quiet)
        elif self.path:
            client = chromadb.PersistentClient(path=str(self.find_folder(around, self.path)), settings=quiet)
        else:
            client = chromadb.EphemeralClient(settings=quiet)
        options = self.options(around, where, embeds=not self.own_embedder, secrets=secrets)
        return Chroma(client, own_embedder=self.own_embedder, search_width=self.search_width, **options)
