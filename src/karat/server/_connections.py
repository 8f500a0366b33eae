"""Connections that are let go if a request is not whole in time: uvicorn itself waits for one as long as it takes."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds for the head of a request, and for the rest of a body that nobody waits for."""


class Connection(H11Protocol):
    """Speaks HTTP/1.1 with a client; while nothing is answered, the next request has to be whole in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request; it does not prolong the wait."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._forget()

    def _watch(self) -> None:
        # uvicorn's types do not say that there is no cycle before the first request.
        is_answering = self.cycle is not None and not self.cycle.response_complete  # type: ignore[redundant-expr]
        if is_answering or self.transport.is_closing():
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(PATIENCE, self.transport.close)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
