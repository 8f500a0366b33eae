"""How long the stages of an answer take."""

from __future__ import annotations

import time


class Clock:
    """Measures the milliseconds of each stage."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._recalled = 0.0
        self.laps: dict[str, float] = {}

    def lap(self, name: str, milliseconds: float | None = None) -> None:
        """End a stage, which counts as many milliseconds as it took, or took when it was done for the cache."""
        now = time.perf_counter()
        self.laps[name] = taken = (now - self._last) * 1000
        if milliseconds is not None:
            self.laps[name] = milliseconds
            self._recalled += milliseconds - taken
        self._last = now

    def total(self) -> float:
        """Return the milliseconds of all stages."""
        return (time.perf_counter() - self._start) * 1000 + self._recalled
