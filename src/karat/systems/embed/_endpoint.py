"""Embeddings from any server with OpenAI's API: ``POST <url>/embeddings``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from karat.core import SystemFailed, UsageError
from karat.net import Client
from karat.net import Endpoint as HttpEndpoint
from karat.systems.embed._embedder import Matrix, check_texts, normalise
from karat.systems.embed._response import read_vectors

OPENAI = "https://api.openai.com/v1"


class Endpoint:
    """Embeds with a model behind an HTTP server; the number of dimensions is learned from the first response.

    ``url`` is the part before ``/embeddings``. ``key_variable`` names the environment variable that holds the key,
    which is read before the first request and written nowhere; it is empty for a server that needs none. ``dimensions``
    is sent to models that can return shorter vectors. ``timeout`` is in seconds, for one attempt of one batch. If the
    server fails after all retries, SystemFailed is raised with its message.
    """

    is_remote = True

    def __init__(
        self,
        model: str,
        *,
        url: str = OPENAI,
        key_variable: str | None = None,
        dimensions: int | None = None,
        batch: int = 100,
        timeout: float = 60.0,
        retries: int = 3,
        backoff: float = 0.5,
    ) -> None:
        if not model:
            raise UsageError("an endpoint needs the name of a model, as in openai:text-embedding-3-small")
        if batch < 1 or (dimensions is not None and dimensions < 1):
            raise UsageError(f"batch={batch}, dimensions={dimensions}; choose 1 or more")
        self.model = model
        self.url = _base(url)
        self.key_variable = key_variable if key_variable is not None else "OPENAI_API_KEY" if url == OPENAI else ""
        self.endpoint = HttpEndpoint(
            url=f"{self.url}/embeddings",
            key_variable=self.key_variable,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
        )
        self.dimensions = dimensions
        self.batch = batch
        self._size = dimensions
        self._client: Client | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Endpoint({self.model!r}, url={self.url!r})"

    @property
    def name(self) -> str:
        """The model, its URL, and the number of dimensions if it was chosen."""
        return f"openai:{self.model}@{self.url}" + (f"/{self.dimensions}" if self.dimensions else "")

    @property
    def size(self) -> int:
        """The number of dimensions of a vector; asks the server if it is not known yet."""
        if self._size is None:
            self(["size"])
        assert self._size is not None
        return self._size

    def describe(self) -> dict[str, Any]:
        """Return everything known here that decides what the vectors are."""
        return {"kind": "openai", "model": self.model, "url": self.url, "dimensions": self.dimensions}

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Return one row of length 1 for each text, with one request for each batch."""
        # Servers refuse an empty text, and with it the whole batch.
        inputs = [text or " " for text in check_texts(texts)]
        if not inputs:
            return np.empty((0, self.size), np.float32)
        batches = [inputs[start : start + self.batch] for start in range(0, len(inputs), self.batch)]
        return np.concatenate([self._embed(batch) for batch in batches])

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _embed(self, texts: list[str]) -> Matrix:
        data: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions is not None:
            data["dimensions"] = self.dimensions
        client = self._connect()
        response = client.post(data)
        try:
            rows = read_vectors(response, len(texts), self._size)
        except SystemFailed as error:
            raise client.failed(str(error)) from None
        self._size = rows.shape[1]
        return normalise(rows).astype(np.float32)

    def _connect(self) -> Client:
        """Return the client, whose connections stay open between calls."""
        with self._lock:
            if self._client is None:
                self._client = Client(self.endpoint, "embedder")
            return self._client


def _base(url: str) -> str:
    """Return the base URL; raise UsageError for one with a part that may be secret, as names and messages show it."""
    parts = urlsplit(HttpEndpoint(url=url).url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("the address of an endpoint takes no user, password or query; name a key_variable instead")
    return url.rstrip("/").removesuffix("/embeddings")
