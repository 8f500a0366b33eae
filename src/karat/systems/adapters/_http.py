"""A retriever behind HTTP: one POST with a question, JSON with hits back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import SystemFailed, UsageError, shorten
from karat.systems._client import Client, Endpoint


@dataclass(frozen=True, kw_only=True)
class HttpSystem:
    """Asks a service that takes JSON such as ``{"query": ..., "k": ...}`` and gives a list of hits.

    Paths are names and numbers with dots between them: ``data.results`` leads into the answer, ``id``, ``score`` and
    the others into one hit. The key comes from an environment variable, and stands in no file.

    >>> system = HttpSystem(url="http://localhost:9200/search", hits="data.results", id="chunk.id")
    >>> system.read({"data": {"results": [{"chunk": {"id": "wifi:chunk:0"}, "score": 0.5}]}})
    [{'id': 'wifi:chunk:0', 'score': 0.5}]
    """

    url: str
    query_field: str = "query"
    k_field: str = "k"
    body: Mapping[str, Any] = field(default_factory=dict)
    """What else every question holds, such as the name of an index."""
    hits: str = "hits"
    id: str = "id"
    score: str = "score"
    document: str = ""
    content: str = ""
    key_variable: str = ""
    timeout: float = 30.0
    retries: int = 3
    backoff: float = 0.5
    name: str = field(init=False)
    client: Client = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        clash = {self.query_field, self.k_field} & self.body.keys()
        if clash:
            raise UsageError(
                f"body sets {min(clash)!r}, which holds the question; choose another query_field or k_field"
            )
        endpoint = Endpoint(
            url=self.url,
            key_variable=self.key_variable,
            timeout=self.timeout,
            retries=self.retries,
            backoff=self.backoff,
        )
        object.__setattr__(self, "name", endpoint.name)
        object.__setattr__(self, "client", Client(endpoint, "system"))

    def describe(self) -> dict[str, Any]:
        """Give what decides the answers, as far as it can be seen from here."""
        return {"kind": "http", "url": self.name, "body": dict(self.body), "hits": self.hits, "id": self.id}

    def retrieve(self, query: str, k: int) -> list[dict[str, Any]]:
        """Ask, and give the hits as records."""
        answer = self.client.post({**self.body, self.query_field: query, self.k_field: k})
        return self.read(answer)

    def read(self, answer: Any) -> list[dict[str, Any]]:
        """Take the hits out of an answer."""
        found = _follow(answer, self.hits) if self.hits else answer
        if not isinstance(found, list):
            raise SystemFailed(f"the answer has {shorten(found)} at {self.hits!r}, not a list of hits")
        return [self._record(hit) for hit in found]

    def _record(self, hit: Any) -> dict[str, Any]:
        if isinstance(hit, str | int) and not isinstance(hit, bool):
            return {"id": hit}
        paths = {"id": self.id, "score": self.score, "document": self.document, "content": self.content}
        record = {name: _follow(hit, path) for name, path in paths.items() if path}
        return {name: value for name, value in record.items() if value is not None}

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def _follow(value: Any, path: str) -> Any:
    """Go down a path of names and numbers; None where it ends before."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
