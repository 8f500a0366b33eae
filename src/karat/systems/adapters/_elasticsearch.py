"""Elasticsearch and OpenSearch over HTTP: by words (BM25), or by vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack
from urllib.parse import quote

from karat.core import SystemFailed, UsageError
from karat.net import Client, find_message
from karat.systems.adapters._paths import follow
from karat.systems.adapters._service import ServiceSettings
from karat.systems.adapters._settings import StoreOptions, Surroundings
from karat.systems.adapters._store import Match, Store

_CANDIDATES = 100  # of each shard, among which the nearest are chosen, or k if that is more


class Elasticsearch(Store):
    """An index of Elasticsearch: searched by words, or by the vectors of a field."""

    name = "elasticsearch"

    def __init__(
        self, client: Client, *, vector: str = "", search_in: Sequence[str] = (), **options: Unpack[StoreOptions]
    ) -> None:
        """``vector`` is the field of the vectors, if they are searched; ``search_in`` names the fields with words."""
        super().__init__(embeds=bool(vector), **options)
        if self.collection in (".", ".."):
            raise UsageError(f"[system] collection = {self.collection!r} is not the name of an index")
        self._client, self._vector, self._search_in = client, vector, list(search_in)

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "vector": self._vector, "search_in": self._search_in}

    def list_collections(self) -> Iterable[str]:
        self._request("GET", "/_mapping")  # if there is no such index or alias, the service says so
        return [self.collection]

    def create(self, size: int) -> None:
        properties: dict[str, Any] = {"body": {"type": "text"}}
        if size:
            properties[self._vector] = self._map_vector(size)
        self._request("PUT", "", {**self._settings(), "mappings": {"properties": properties}})

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        rows = [{"body": text} for text in texts]
        if vectors is not None:
            rows = [{**row, self._vector: vector} for row, vector in zip(rows, vectors.tolist(), strict=True)]
        lines = [part for n, row in zip(numbers, rows, strict=True) for part in ({"index": {"_id": str(n)}}, row)]
        answer = self._request("POST", "/_bulk?refresh=true", *lines)
        if follow(answer, "errors") is not False:
            raise SystemFailed(f"{self.name} did not take all chunks: {find_message(follow(answer, 'items.0.index'))}")

    def search(self, question: Any, k: int) -> Iterable[Match]:
        body = {"query": self._match(question)} if isinstance(question, str) else self._near(question.tolist(), k)
        source = sorted({name for name in self._fields.values() if name})
        answer = self._request("POST", "/_search", {"size": k, "_source": source or False, **body})
        hits = follow(answer, "hits.hits")
        if not isinstance(hits, list):
            raise SystemFailed(f"{self.name} answered without hits: {find_message(answer) or 'is this the right url?'}")
        return [self._read_hit(hit) for hit in hits]

    def _read_hit(self, hit: Any) -> Match:
        source = follow(hit, "_source")
        return Match(follow(hit, "_id"), follow(hit, "_score"), source if isinstance(source, Mapping) else {})

    def drop(self) -> None:
        self._request("DELETE", "")

    def _request(self, method: str, path: str, *values: Any) -> Any:
        return self._client.request(method, f"/{quote(self.collection, safe='*,')}{path}", values)

    def _match(self, text: str) -> Mapping[str, Any]:
        return {"multi_match": {"query": text, **({"fields": self._search_in} if self._search_in else {})}}

    def _settings(self) -> dict[str, Any]:
        return {}

    def _map_vector(self, size: int) -> Mapping[str, Any]:
        return {"type": "dense_vector", "dims": size, "index": True, "similarity": "cosine"}

    def _near(self, vector: list[float], k: int) -> Mapping[str, Any]:
        candidates = max(k, _CANDIDATES)
        return {"knn": {"field": self._vector, "query_vector": vector, "k": k, "num_candidates": candidates}}


class OpenSearch(Elasticsearch):
    """An index of OpenSearch, which has other words for vectors."""

    name = "opensearch"

    def _settings(self) -> dict[str, Any]:
        return {"settings": {"index": {"knn": bool(self._vector)}}}

    def _map_vector(self, size: int) -> Mapping[str, Any]:
        method = {"name": "hnsw", "space_type": "cosinesimil", "engine": "lucene"}
        return {"type": "knn_vector", "dimension": size, "method": method}

    def _near(self, vector: list[float], k: int) -> Mapping[str, Any]:
        return {"query": {"knn": {self._vector: {"vector": vector, "k": k}}}}


@dataclass(frozen=True, kw_only=True)
class ElasticsearchSettings(ServiceSettings):
    """The table ``[system]`` with ``kind = "elasticsearch"``."""

    kind: ClassVar[type[Elasticsearch]] = Elasticsearch
    vector: str = ""
    search_in: list[str] = field(default_factory=list)

    def connect(self, around: Surroundings) -> Elasticsearch:
        """Prepare the client, which connects at the first request."""
        client = self.make_client()
        options = self.client_options(around, client, embeds=bool(self.vector))
        store = self.kind(client, vector=self.vector, search_in=self.search_in, **options)
        return store.closing(client.close)


class OpenSearchSettings(ElasticsearchSettings):
    """The table ``[system]`` with ``kind = "opensearch"``."""

    kind = OpenSearch
