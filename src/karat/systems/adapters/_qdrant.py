"""Qdrant: a server, a folder that qdrant-client itself reads, or the memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from karat.core import UsageError
from karat.net import Endpoint, collect_secrets, read_variable, require_package
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings, refuse_login
from karat.systems.adapters._store import Match, Store


class Qdrant(Store):
    """A collection of Qdrant, by a ``qdrant_client.QdrantClient``."""

    name = "qdrant"
    package = "qdrant-client"

    def __init__(self, client: Any, *, vector: str = "", exact: bool = False, **options: Unpack[StoreOptions]) -> None:
        """``vector`` is the name of the vector, if a point has several; ``exact`` searches without the index."""
        super().__init__(**options)
        self._models = _require().models
        self._client, self._vector, self._exact = client, vector, exact

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "vector": self._vector, "exact": self._exact}

    def list_collections(self) -> Iterable[str]:
        return [collection.name for collection in self._client.get_collections().collections]

    def create(self, size: int) -> None:
        vectors = self._models.VectorParams(size=size, distance=self._models.Distance.COSINE)
        self._client.create_collection(self.collection, vectors_config=vectors)

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        payloads = [{"text": text} for text in texts]
        batch = self._models.Batch(ids=list(numbers), vectors=vectors.tolist(), payloads=payloads)
        self._client.upsert(self.collection, points=batch)

    def search(self, question: Any, k: int) -> Iterable[Match]:
        response = self._client.query_points(
            self.collection,
            query=question.tolist(),
            using=self._vector or None,
            limit=k,
            with_payload=True,
            search_params=self._models.SearchParams(exact=self._exact),
        )
        return [Match(str(point.id), point.score, point.payload or {}) for point in response.points]

    def drop(self) -> None:
        self._client.delete_collection(self.collection)


@dataclass(frozen=True, kw_only=True)
class QdrantSettings(StoreSettings):
    """The table ``[system]`` with ``kind = "qdrant"``; without ``url`` and ``path`` it is in memory."""

    url: str = ""
    path: str = ""
    """The folder of a local collection."""
    key_variable: str = ""
    """The environment variable that holds the key of the server."""
    vector: str = ""
    exact: bool = False

    def connect(self, around: Surroundings) -> Qdrant:
        """Connect to the server, or open the folder."""
        if self.url and self.path:
            raise UsageError("[system] has both url and path; remove one of them")
        client, secrets, where = _require().QdrantClient, None, self.path
        if self.url:
            where = Endpoint(url=self.url).name
            refuse_login(self.url, "qdrant")
            key = read_variable(self.key_variable, where) if self.key_variable else None
            secrets = collect_secrets(self.url, {"api-key": key or ""})
            opened = client(url=self.url, api_key=key, check_compatibility=False)
        else:
            opened = client(path=str(self.find_folder(around, self.path))) if self.path else client(":memory:")
        options = self.options(around, where, secrets=secrets)
        return Qdrant(opened, vector=self.vector, exact=self.exact, **options).closing(opened.close)


def _require() -> Any:
    return require_package("qdrant_client", purpose="the system qdrant", extra="qdrant")
