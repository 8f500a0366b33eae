"""A retriever behind HTTP: one POST with JSON for each question, and JSON with hits in return."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from karat.core import SystemFailed, UsageError, shorten
from karat.net import Client, Endpoint, find_message, strip_secrets

_PATHS = ("id", "score", "document", "content", "tenant")
_PLACE = re.compile("[0-9]{1,9}")  # of an item in a list
_MOST_KEYS = 20  # listed in a message


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
    worked: bool = field(init=False, repr=False, compare=False, default=False)
    """Whether the paths led to a hit at least once."""

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
        """Return the hits of an answer as records.

        If ``hits`` or ``id`` leads nowhere, UsageError lists the keys that are there. Once an answer with hits was read
        the paths are right, and such an answer is a failure of the service: SystemFailed.
        """
        hits = _follow(response, self.hits) if self.hits else response
        if not isinstance(hits, list):
            if message := find_message(response):
                raise SystemFailed(self.client.secrets.redact(f"the service answered with an error: {message}"))
            message = f"the answer has no list of hits at hits = {shorten(self.hits)}: {_missing(response, self.hits)}"
            if isinstance(response, list):
                message += ', which is the list of hits if you set hits = ""'
            raise self._mistake(message)
        records = [self._record(hit, rank) for rank, hit in enumerate(hits, 1)]
        if records:
            object.__setattr__(self, "worked", True)
        return records

    def _record(self, hit: Any, rank: int) -> dict[str, Any]:
        if isinstance(hit, str | int) and not isinstance(hit, bool):
            return {"id": hit}
        record = {name: _follow(hit, path) for name in _PATHS if (path := getattr(self, name))}
        if record.get("id") is None and record.get("document") is None:
            raise self._mistake(f"hit {rank} has nothing at id = {shorten(self.id)}: {_missing(hit, self.id)}")
        return {name: value for name, value in record.items() if value is not None}

    def _mistake(self, message: str) -> UsageError | SystemFailed:
        message = self.client.secrets.redact(message)
        return SystemFailed(message) if self.worked else UsageError(f"[system] {message}; correct the path")

    def close(self) -> None:
        """Close the connections."""
        self.client.close()


def _follow(value: Any, path: str) -> Any:
    """Return the value at a path of names and numbers, or None if the path leads nowhere."""
    for part in path.split("."):
        value = _step(value, part)
    return value


def _step(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list) and _PLACE.fullmatch(part) and int(part) < len(value):
        return value[int(part)]
    return None


def _missing(value: Any, path: str) -> str:
    """Return what stands where a path ends, with its keys.

    >>> _missing({"data": {"items": [], "took": 3}}, "data.results")
    "'data' has the keys 'items', 'took'"
    """
    way: list[str] = []
    for part in path.split(".") if path else ():
        if (inner := _step(value, part)) is None:
            break
        value = inner
        way.append(part)
    place = shorten(".".join(way)) if way else "it"
    if isinstance(value, Mapping):
        keys = [shorten(key) for key in value]
        more = f" and {len(keys) - _MOST_KEYS:,} more" if len(keys) > _MOST_KEYS else ""
        return f"{place} has the keys {', '.join(keys[:_MOST_KEYS])}{more}" if keys else f"{place} is an empty object"
    if isinstance(value, list):
        return f"{place} is a list of {len(value):,}"
    return f"{place} is {shorten(value)}"
