"""Embeddings from any server that speaks OpenAI's protocol: ``POST <url>/embeddings``."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from karat.core import InputError, SystemFailed, UsageError
from karat.systems.embed._answer import rows_of, seconds_to_wait, words_of
from karat.systems.embed._embedder import Matrix, check_texts, normalised

if TYPE_CHECKING:
    import httpx

OPENAI = "https://api.openai.com/v1"

_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a server is waited for, and how often it is asked again."""

    timeout: float = 60.0
    """Seconds without a byte of the answer."""
    retries: int = 3
    first_wait: float = 0.5
    """Seconds before the first retry; each further wait is twice as long, or as long as the server says."""
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        if min(self.timeout, self.longest_wait) <= 0 or self.first_wait < 0 or self.retries < 0:
            raise UsageError(f"{self}; seconds and retries cannot be negative")


class Endpoint:
    """Embeds with a model behind an HTTP server; the vectors' length is learned from the first answer.

    ``url`` is what stands before ``/embeddings``. ``key_variable`` names the environment variable that holds the key,
    which is read for every request and written nowhere; a server of one's own may need none. ``dimensions`` is sent to
    models that can give shorter vectors. A server that fails for good raises SystemFailed with its own words.
    """

    def __init__(
        self,
        model: str,
        *,
        url: str = OPENAI,
        key_variable: str | None = None,
        dimensions: int | None = None,
        batch: int = 100,
        patience: Patience = Patience(),  # noqa: B008 (it is frozen)
    ) -> None:
        if not model:
            raise UsageError("an endpoint needs the name of a model, as in openai:text-embedding-3-small")
        if batch < 1 or (dimensions is not None and dimensions < 1):
            raise UsageError(f"batch={batch}, dimensions={dimensions}; choose 1 or more")
        self.model = model
        self.url = _base(url)
        self.key_variable = key_variable if key_variable is not None else "OPENAI_API_KEY" if url == OPENAI else ""
        self.dimensions = dimensions
        self.batch = batch
        self.patience = patience
        self._size = dimensions
        self._client: httpx.Client | None = None
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
        key = self._key()
        try:
            rows = rows_of(self._asked(data, key), len(texts), self._size)
        except SystemFailed as error:
            said = str(error).replace(key, "***") if key else str(error)  # some servers repeat the key that they refuse
            raise SystemFailed(f"{self.url}/embeddings {said}") from None
        self._size = rows.shape[1]
        return normalised(rows).astype(np.float32)

    def _asked(self, data: dict[str, Any], key: str) -> bytes:
        """Give the body of a good answer; after the last retry, or where none can help, raise SystemFailed."""
        import httpx

        headers = {"Authorization": f"Bearer {key}"} if key else {}
        wait = self.patience.first_wait
        for retries_left in range(self.patience.retries, -1, -1):
            asked_for = 0.0
            try:
                response = self._connected().post(f"{self.url}/embeddings", json=data, headers=headers)
                if response.is_success:
                    return response.content
                failure = f"answered {response.status_code}: {words_of(response.content)}"
                if response.status_code not in _AGAIN:
                    raise SystemFailed(failure)
                asked_for = seconds_to_wait(response.headers.get("Retry-After", ""))
            except httpx.RequestError as error:
                failure = f"cannot be reached: {str(error) or type(error).__name__}"
            if retries_left:
                time.sleep(min(max(wait, asked_for), self.patience.longest_wait))
                wait *= 2
        raise SystemFailed(f"{failure} (asked {self.patience.retries + 1} times)")

    def _key(self) -> str:
        if not self.key_variable:
            return ""
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise InputError(
                f"the environment variable {self.key_variable} is not set", hint=f"it holds the key for {self.url}"
            )
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise InputError(f"the environment variable {self.key_variable} holds what no key can be")
        return key

    def _connected(self) -> httpx.Client:
        """Give the client, whose connections stay open between calls, and are closed when nobody needs them."""
        import httpx

        with self._lock:
            if self._client is None:
                self._client = httpx.Client(timeout=self.patience.timeout)
                weakref.finalize(self, self._client.close)
            return self._client


def _base(url: str) -> str:
    """Give the address without what is added to it, and refuse one that would put a secret into names and messages."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{url!r} is no address of a server; write https://host/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError("the address of an endpoint takes no user, password or query; name a key_variable instead")
    return url.rstrip("/").removesuffix("/embeddings")
