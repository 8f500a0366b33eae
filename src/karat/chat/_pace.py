"""How fast a server is asked: at most so many requests a minute, and not before a time that it asks for."""

from __future__ import annotations

import threading
import time

from karat.core import UsageError


class Pace:
    """Lets threads wait for their turn.

    >>> Pace(requests_per_minute=600).wait()
    """

    def __init__(self, requests_per_minute: float | None = None) -> None:
        if requests_per_minute is not None and not requests_per_minute > 0:
            raise UsageError(f"requests_per_minute={requests_per_minute}; choose more than 0")
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
