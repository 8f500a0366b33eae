"""Milvus: a server, or Milvus Lite in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from karat.core import InputError, UsageError
from karat.net import Endpoint, collect_secrets, read_variable, require_package
from karat.systems.adapters._settings import StoreOptions, StoreSettings, Surroundings
from karat.systems.adapters._store import Match, Store

_TIMEOUT = 60.0  # seconds: Milvus Lite starts a server, which takes its time on a busy machine


class Milvus(Store):
    """A collection of Milvus, by a ``pymilvus.MilvusClient``."""

    name = "milvus"
    package = "pymilvus"

    def __init__(self, client: Any, *, vector: str = "", **options: Unpack[StoreOptions]) -> None:
        """``vector`` is the field of the vectors, if there are several."""
        super().__init__(**options)
        self._client, self._vector = client, vector

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what is found."""
        return {**super().describe(), "vector": self._vector}

    def list_collections(self) -> Iterable[str]:
        names: Iterable[str] = self._client.list_collections()
        return names

    def create(self, size: int) -> None:
        # Strong consistency: what was added is found by the next question.
        self._client.create_collection(
            self.collection, dimension=size, metric_type="COSINE", auto_id=False, consistency_level="Strong"
        )

    def add(self, numbers: range, texts: Sequence[str], vectors: Any) -> None:
        rows = zip(numbers, texts, vectors.tolist(), strict=True)
        self._client.insert(self.collection, [{"id": n, "text": text, "vector": vector} for n, text, vector in rows])

    def search(self, question: Any, k: int) -> Iterable[Match]:
        answer = self._client.search(
            self.collection,
            data=[question.tolist()],
            limit=k,
            output_fields=sorted({name for name in self._fields.values() if name}),
            anns_field=self._vector,
        )
        return [Match(str(hit.id), hit.distance, hit.fields) for hit in answer[0]]

    def drop(self) -> None:
        self._client.drop_collection(self.collection)


@dataclass(frozen=True, kw_only=True)
class MilvusSettings(StoreSettings):
    """The table ``[system]`` with ``kind = "milvus"``; without ``url`` and ``path`` it is a temporary file."""

    url: str = ""
    path: str = ""
    """The file of Milvus Lite."""
    key_variable: str = ""
    """The environment variable that holds the token of the server."""
    vector: str = ""

    def connect(self, around: Surroundings) -> Milvus:
        """Connect to the server, or open the file."""
        if self.url and self.path:
            raise UsageError("[system] has both url and path; remove one of them")
        client = require_package("pymilvus", purpose="the system milvus", extra="milvus").MilvusClient
        if self.url:
            where = Endpoint(url=self.url, key_variable=self.key_variable).name
            token = read_variable(self.key_variable, where) if self.key_variable else ""
            secrets = collect_secrets(self.url, {"token": token})
            opened = client(uri=self.url, token=token)
            store = Milvus(opened, vector=self.vector, **self.options(around, where, secrets=secrets))
            return store.closing(opened.close)
        path = around.folder / self.path
        if self.path and not path.exists():
            raise InputError("no such file", source=str(path), hint="correct path in [system]")
        folder = TemporaryDirectory(prefix="karat-") if not self.path else None
        opened = client(uri=str(Path(folder.name, "milvus.db") if folder else path), timeout=_TIMEOUT)
        store = Milvus(opened, vector=self.vector, **self.options(around, self.path))
        return (store.closing(folder.cleanup) if folder else store).closing(opened.close)
