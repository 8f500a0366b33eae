"""A circuit breaker: after some failures in a row the treatment is left alone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half-open"]


class Breaker:
    """Closed, calls go through. Open, none does. Half-open, one does, and decides.

    >>> now = [0.0]
    >>> breaker = Breaker(2, 30.0, clock=lambda: now[0])
    >>> breaker.fail(), breaker.fail(), breaker.admit(), breaker.state
    (None, None, None, 'open')
    >>> now[0] = 30.0
    >>> breaker.admit(), breaker.admit(), breaker.state
    ('trial', None, 'half-open')
    >>> breaker.succeed(), breaker.state
    (None, 'closed')
    """

    def __init__(self, failures: int, pause: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._pause, self._clock = failures, pause, clock
        self._lock = threading.Lock()
        self._row, self._until = 0, 0.0
        self.state: State = "closed"
        self.opened = 0
        """How often it has opened."""

    def admit(self) -> Literal["closed", "trial"] | None:
        """Return None if a call must not go through, and ``trial`` for the one that decides about a half-open one."""
        if self.state == "closed":  # without the lock: a caller waits
            return "closed"
        with self._lock:
            if self._clock() < self._until:
                return None
            self.state = "half-open"
            self._until = self._clock() + self._pause  # if the trial never ends, another one follows
            return "trial"

    def succeed(self) -> None:
        """Close: the treatment answered."""
        with self._lock:
            self._row, self.state = 0, "closed"

    def fail(self) -> None:
        """Count a failure; open after enough of them in a row, or if a half-open one was tried."""
        with self._lock:
            self._row += 1
            if self.state == "half-open" or (self.state == "closed" and self._row >= self._most):
                self.state, self._until = "open", self._clock() + self._pause
                self.opened += 1
