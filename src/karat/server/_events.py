"""Streams of events: how many may be open, and that each gives its place back."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from karat.server._asking import Refused

EACH, ALL = 32, 256
"""Streams that may be open at once, with one token and in all."""
_WAIT = 30  # seconds after which another try makes sense


class Streams:
    """Counts the streams that are open, with each token and in all."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def open(self, token: str, pieces: AsyncIterator[bytes]) -> Response:
        """Return a stream as an answer; one too many is refused."""
        if self._open[token] >= EACH or self._open.total() >= ALL:
            raise Refused(503, "too many pages listen for changes already; close some", wait=_WAIT)
        self._open[token] += 1
        return _Stream(pieces, lambda: self._open.subtract([token]))


class _Stream(StreamingResponse):
    def __init__(self, pieces: AsyncIterator[bytes], on_end: Callable[[], None]) -> None:
        super().__init__(pieces, media_type="text/event-stream", headers={"cache-control": "no-store"})
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._on_end()
