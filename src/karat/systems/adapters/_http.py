"""A retriever behind HTTP: one POST with a question, JSON with hits back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import SystemFailed, UsageError, shorten
from karat.net import Client, Endpoint

_PATHS = ("id", "score", "document", "content", "tenant")


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
    tenant_field: str = ""
    """What the service calls the tenant; a service without one cannot be asked for one."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """What else every question holds, such as the name of an index."""
    hits: str = "hits"
    id: str = "id"
    score: str = "score"
    document: str = ""
    content: str = ""
    tenant: str = ""
    key_variable: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Other headers, each with the environment variable that holds its value."""
    timeout: float = 30.0
    retries: int = 3
    backoff: float = 0.5
    name: str = field(init=False)
    client: Client = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        clash = {self.query_field, self.k_field, self.tenant_field} & self.body.keys()
        if clash:
            raise UsageError(f"body sets {min(clash)!r}, which is a part of the question; call one of them otherwise")
        endpoint = Endpoint(
            url=self.url,
            key_variable=self.key_variable,
            headers=self.headers,
            timeout=self.timeout,
            retries=self.retries,
            backoff=self.backoff,
        )
        object.__setattr__(self, "name", endpoint.name)
        object.__setattr__(self, "client", Client(endpoint, "system"))

    def describe(self) -> dict[str, Any]:
        """Give what decides the answers, as far as it can be seen from here."""
        paths = {name: getattr(self, name) for name in (*_PATHS, "hits", "query_field", "k_field", "tenant_field")}
        # Parameters may be secret, and may choose an index: their hash tells two URLs apart.
        url = {} if self.url == self.name else {"url_hash": hashlib.sha256(self.url.encode()).hexdigest()[:16]}
        return {"kind": "http", "url": self.name, **url, "body": dict(self.body), **paths}

    def retrieve(self, query: str, k: int, company_id: str = "") -> list[dict[str, Any]]:
        """Ask, and give the hits as records."""
        if company_id and not self.tenant_field:
            raise UsageError("a tenant was chosen; say in tenant_field what the service calls it")
        asked = {**self.body, self.query_field: query, self.k_field: k}
        return self.read(self.client.post(asked | ({self.tenant_field: company_id} if company_id else {})))

    def read(self, answer: Any) -> list[dict[str, Any]]:
        """Take the hits out of an answer."""
        found = _follow(answer, self.hits) if self.hits else answer
        if not isinstance(found, list):
            raise SystemFailed(f"the answer has {shorten(found)} at {self.hits!r}, not a list of hits")
        return [self._record(hit) for hit in found]

    def _record(self, hit: Any) -> dict[str, Any]:
        if isinstance(hit, str | int) and not isinstance(hit, bool):
            return {"id": hit}
        record = {name: _follow(hit, path) for name in _PATHS if (path := getattr(self, name))}
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
