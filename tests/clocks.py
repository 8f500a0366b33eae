"""A clock that tests set, for what would otherwise depend on how fast the machine is."""

from __future__ import annotations

import threading


class Clock:
    """Stands in for ``time`` where karat measures how long a system takes; every thread has a time of its own."""

    def __init__(self) -> None:
        self._local = threading.local()

    def perf_counter(self) -> float:
        """Return the seconds by which the calling thread has advanced the clock, from 1."""
        return float(getattr(self._local, "now", 1.0))

    def advance(self, seconds: float) -> None:
        """Let time pass for the calling thread."""
        self._local.now = self.perf_counter() + seconds
