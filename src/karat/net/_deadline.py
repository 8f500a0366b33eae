"""A time limit for a whole answer.

httpx2's own limit is for each read. A service that sends a byte now and then, of its headers for example, or one
``102 Processing`` after the other, would never reach it.
"""

from __future__ import annotations

import threading
import time
from typing import Any


class Deadline(threading.local):
    """When the request that a thread sends has to be answered. Every connection of a client asks before it reads."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error
        self._seconds, self._end = 0.0, 0.0

    def start(self, seconds: float) -> None:
        """Begin the time of a request."""
        self._seconds, self._end = seconds, time.monotonic() + seconds

    def require_time(self) -> float:
        """Return the seconds that are left, or raise the error for none."""
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            raise self._error(f"no whole answer in {self._seconds:g} s")
        return remaining


def limit_reads(client: Any, deadline: Deadline) -> None:
    """Let no connection of a client read beyond a deadline."""
    # httpx2 has no option for what makes its connections, unlike httpcore2, to which it leaves that.
    for transport in (client._transport, *client._mounts.values()):
        if transport is not None:  # None: an address for which no proxy is used
            transport._pool._network_backend = _Backend(transport._pool._network_backend, deadline)


class _Backend:
    """Makes connections as another backend does, with a deadline."""

    def __init__(self, backend: Any, deadline: Deadline) -> None:
        self._backend, self._deadline = backend, deadline

    def connect_tcp(self, *arguments: Any, **options: Any) -> _Stream:
        return _Stream(self._backend.connect_tcp(*arguments, **options), self._deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


class _Stream:
    """A connection that reads only while there is time, and writes headers and body together."""

    def __init__(self, stream: Any, deadline: Deadline) -> None:
        self._stream, self._deadline = stream, deadline
        self._unsent = b""
        self._timeout: float | None = None

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        self._flush()
        remaining = self._deadline.require_time()
        return self._stream.read(max_bytes, remaining if timeout is None else min(timeout, remaining))

    def write(self, data: bytes, timeout: float | None = None) -> None:
        """Keep the headers until the body comes, or an answer is read: two packets take twice the time of one."""
        self._unsent, self._timeout = self._unsent + data, timeout
        if len(data) < len(self._unsent):  # the second piece
            self._flush()

    def _flush(self) -> None:
        data, self._unsent = self._unsent, b""
        if data:
            self._stream.write(data, self._timeout)

    def start_tls(self, *arguments: Any, **options: Any) -> _Stream:
        return _Stream(self._stream.start_tls(*arguments, **options), self._deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
