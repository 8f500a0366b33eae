"""Weaviate over HTTP: REST for the schema and the objects, GraphQL for the search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack
from uuid import UUID

from karat.core import SystemFailed, UsageError, shorten
from karat.net import Client, find_message
from karat.systems.adapters._paths import follow
from karat.systems.adapters._service import ServiceSettings
from karat.systems.adapters._settings import StoreOptions, Surroundings
from karat.systems.adapters._store import Match, Store

_MODES = ("vector", "near_text", "bm25")
_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]*")


class Weaviate(Store):
    """A collection of Weaviate, searched by karat's vectors, by its own (near_text), or by words (bm25)."""

    name = "weaviate"

    def __init__(self, client: Client, *, mode: str = "vector", **options: Unpack[StoreOptions]) -> None:
        if mode not in _MODES:
            raise UsageError(f"[system] mode = {mode!r}; choose {', '.join(_MODES)}")
        super().__init__(embeds=mode == "vector", **options)
        if self.ingest:
            if mode == "near_text":
                raise UsageError("the system weaviate ingests what karat embeds; choose another mode")
            self.collection = self.collection.capitalize()  # as all its collections are
        for name in (self.collection, *filter(None, self._fields.values())):
            if not _NAME.fullmatch(name):
                raise UsageError(f"[system] {shorten(name)} is not a name of Weaviate")
        self._client, self._mode = client, mode

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "mode": self._mode}

    def list_collections(self) -> Iterable[str]:
        classes = follow(self._client.request("GET", "/v1/schema"), "classes") or ()
        return [str(follow(collection, "class")) for collection in classes] if isinstance(classes, list) else []

    def create(self, size: int) -> None:  # noqa: ARG002 (Weaviate takes it from the first vector)
        schema = {
            "class": self.collection,
            "vectorizer": "none",
            "vectorIndexConfig": {"distance": "cosine"},
            "properties": [{"name": "number", "dataType": ["int"]}, {"name": "body", "dataType": ["text"]}],
        }
        self._client.request("POST", "/v1/schema", (schema,))

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        rows = zip(numbers, texts, [None] * len(texts) if vectors is None else vectors.tolist(), strict=True)
        objects = [
            {
                "class": self.collection,
                "id": str(UUID(int=number + 1)),
                "properties": {"number": number, "body": text},
                **({"vector": vector} if vector else {}),
            }
            for number, text, vector in rows
        ]
        answer = self._client.request("POST", "/v1/batch/objects", ({"objects": objects},))
        for item in answer if isinstance(answer, list) else [answer]:
            if error := follow(item, "result.errors.error.0"):
                raise SystemFailed(f"weaviate did not take all chunks: {find_message(error)}")

    def search(self, question: Any, k: int) -> Iterable[Match]:
        fields = "number" if self.ingest else " ".join(sorted({name for name in self._fields.values() if name}))
        wanted = "score" if self._mode == "bm25" else "distance"
        search = f"{self.collection}(limit:{k},{self._write(question)})"
        query = f"{{Get{{{search}{{{fields} _additional{{id {wanted}}}}}}}}}"
        answer = self._client.request("POST", "/v1/graphql", ({"query": query},))
        hits = follow(answer, f"data.Get.{self.collection}")
        if not isinstance(hits, list):
            raise SystemFailed(f"weaviate answered without hits: {find_message(follow(answer, 'errors.0'))}")
        for hit in hits:
            yield self._read_hit(hit, wanted)

    def _read_hit(self, hit: Any, wanted: str) -> Match:
        value = follow(hit, f"_additional.{wanted}")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise SystemFailed(f"weaviate returned the {wanted} {shorten(value)}, which is not a number") from None
        name = str(follow(hit, "number")) if self.ingest else follow(hit, "_additional.id")
        return Match(name, number if wanted == "score" else -number, hit)

    def drop(self) -> None:
        self._client.request("DELETE", f"/v1/schema/{self.collection}")

    def _write(self, question: Any) -> str:
        """Return the operator of the search; a text in JSON is one in GraphQL, too."""
        if self._mode == "vector":
            return f"nearVector:{{vector:{json.dumps(question.tolist())}}}"
        text = json.dumps(question)
        return f"bm25:{{query:{text}}}" if self._mode == "bm25" else f"nearText:{{concepts:[{text}]}}"


@dataclass(frozen=True, kw_only=True)
class WeaviateSettings(ServiceSettings):
    """The table ``[system]`` with ``kind = "weaviate"``; a header may have the key of its embedder."""

    mode: str = "vector"

    def connect(self, around: Surroundings) -> Weaviate:
        """Prepare the client, which connects at the first request."""
        client = self.make_client()
        options = self.client_options(around, client, embeds=self.mode == "vector")
        return Weaviate(client, mode=self.mode, **options).closing(client.close)
