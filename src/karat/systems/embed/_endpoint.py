"""Embeddings from any server that speaks OpenAI's protocol: ``POST <url>/embeddings``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from karat.core import SystemFailed, UsageError
from karat.net import Client
from karat.net import Endpoint as HttpEndpoint
from karat.systems.embed._answer import rows_of
from karat.systems.embed._embedder import Matrix, check_texts, normalised

OPENAI = "https://api.openai.com/v1"


class Endpoint:
    """Embeds with a model behind an HTTP server; the vectors' length is learned from the first answer.

    ``url`` is what stands before ``/embeddings``. ``key_variable`` names the environment variable that holds the key,
    which is read before the first request and written nowhere; a server of one's own may need none. ``dimensions`` is
    sent to models that can give shorter vectors. ``timeout`` is in seconds, for one try of one batch. A server that
    fails for good raises SystemFailed with its own words.
    """

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
        """The model, where it runs, and how short its vectors are cut."""
        return f"openai:{self.model}@{self.url}" + (f"/{self.dimensions}" if self.dimensions else "")

    @property
    def size(self) -> int:
        """How many numbers a vector has; the server is asked when nobody knows yet."""
        if self._size is None:
            self(["size"])
        assert self._size is not None
        return self._size

    def describe(self) -> dict[str, Any]:
        """Give all that decides what the vectors are, as far as it can be known from here."""
        return {"kind": "openai", "model": self.model, "url": self.url, "dimensions": self.dimensions}

    def __call__(self, texts: Sequence[str], /) -> Matrix:
        """Give one row of length 1 for each text, asking for a batch at a time."""
        # Servers refuse an empty text, and one bad text would cost its whole batch.
        wanted = [text or " " for text in check_texts(texts)]
        if not wanted:
            return np.empty((0, self.size), np.float32)
        batches = [wanted[start : start + self.batch] for start in range(0, len(wanted), self.batch)]
        return np.concatenate([self._batch(batch) for batch in batches])

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _batch(self, texts: list[str]) -> Matrix:
        data: dict[str, Any] = {"model": self.model, "input": texts}
        if self.dimensions is not None:
            data["dimensions"] = self.dimensions
        client = self._connected()
        answer = client.post(data)
        try:
            rows = rows_of(answer, len(texts), self._size)
        except SystemFailed as error:
            raise client.failed(str(error)) from None
        self._size = rows.shape[1]
        return normalised(rows).astype(np.float32)

    def _connected(self) -> Client:
        """Give the client, whose connections stay open between calls, and are closed when nobody needs them."""
        with self._lock:
            if self._client is None:
                self._client = Client(self.endpoint, "embedder")
            return self._client


def _base(url: str) -> str:
    """Give the address without what is added to it, and refuse one that would put a secret into names and messages."""
    parts = urlsplit(HttpEndpoint(url=url).url)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("the address of an endpoint takes no user, password or query; name a key_variable instead")
    return url.rstrip("/").removesuffix("/embeddings")
