"""How fast a server is asked: at most so many requests a minute, and not before a time that it asks for."""

from __future__ import annotations

import threading
import time

from karat.core import UsageError, shorten

_LEAST, _MOST = 0.001, 1_000_000
"""Requests a minute: one in 17 hours, and more than any server takes."""


class Pace:
    """Lets threads wait for their turn.

    >>> Pace(requests_per_minute=600).wait()
    """

    def __init__(self, requests_per_minute: float | None = None) -> None:
        if requests_per_minute is not None and not _LEAST <= requests_per_minute <= _MOST:
            raise UsageError(f"requests_per_minute = {shorten(requests_per_minute)}; choose {_LEAST} to {_MOST:,}")
        self._interval = 60 / requests_per_minute if requests_per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when the next request may be sent."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self._interval
        if turn > now:
            time.sleep(turn - now)

    def hold(self, seconds: float) -> None:
        """Let nobody send anything for a while: the server is overloaded, whoever asks it."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)
