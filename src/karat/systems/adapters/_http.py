"""A retriever behind HTTP: one POST with JSON for each question, and JSON with hits in return."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import UsageError
from karat.net import Client, Endpoint, strip_secrets
from karat.systems.adapters._paths import HitReader

_PATHS = ("id", "score", "document", "content", "tenant")


@dataclass(frozen=True, kw_only=True)
class HttpSystem:
    """Sends each question to a service as JSON such as ``{"query": ..., "k": ...}``, and reads the hits it returns.

    Paths are names and numbers with dots between them: ``hits`` leads into the answer, ``id``, ``score`` and the others
    into a hit. The key is read from an environment variable, so that no file holds it.

    >>> system = HttpSystem(url="http://localhost:9200/search", hits="data.results", id="chunk.id")
    >>> system.read({"data": {"results": [{"chunk": {"id": "wifi:chunk:0"}, "score": 0.5}]}})
    [{'id': 'wifi:chunk:0', 'score': 0.5}]
    """

    url: str
    query_field: str = "query"
    k_field: str = "k"
    tenant_field: str = ""
    """What the service calls the tenant; empty if it has no tenants."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of every question, such as the name of an index."""
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
    reader: HitReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        clash = {self.query_field, self.k_field, self.tenant_field} & self.body.keys()
        if clash:
            raise UsageError(f"body sets {min(clash)!r}, which is part of the question; rename one of them")
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
        paths = {name: getattr(self, name) for name in _PATHS}
        object.__setattr__(self, "reader", HitReader(paths, hits=self.hits, redact=self.client.secrets.redact))

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides the answers."""
        paths = {name: getattr(self, name) for name in (*_PATHS, "hits", "query_field", "k_field", "tenant_field")}
        # The query of a URL may choose an index, and may be private: its hash tells two URLs apart. Of a password or
        # a key there is no hash either, by which a weak one could be guessed.
        public = strip_secrets(self.url)
        url = {} if public == self.name else {"url_hash": hashlib.sha256(public.encode()).hexdigest()[:16]}
        return {"kind": "http", "url": self.name, **url, "body": dict(self.body), **paths}

    def retrieve(self, query: str, k: int, company_id: str = "") -> list[dict[str, Any]]:
        """Send a question, and return the hits as records."""
        if company_id and not self.tenant_field:
            raise UsageError("a tenant was chosen; set tenant_field to what the service calls it")
        question = {**self.body, self.query_field: query, self.k_field: k}
        return self.read(self.client.post(question | ({self.tenant_field: company_id} if company_id else {})))

    def read(self, response: Any) -> list[dict[str, Any]]:
        """Return the hits of an answer as records; see :class:`HitReader`."""
        return self.reader.read(response)

    def connect(self, _: object) -> HttpSystem:
        """Return the system itself: connections are made when the first question is sent."""
        return self

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
