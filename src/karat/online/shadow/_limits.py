"""How much a treatment may take."""

from __future__ import annotations

from dataclasses import dataclass

from karat.core import UsageError, is_number

EMPTY_FEATURE = "feature is empty; name what is tried, such as 'reranker-v2'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a treatment may take of the host.

    >>> Limits(timeout=0)
    Traceback (most recent call last):
    karat.core._errors.UsageError: timeout=0 is not above 0
    """

    timeout: float = 10.0
    """Seconds after which an answer is no longer waited for."""
    queue: int = 100
    """Calls that may wait for a worker; what comes when the queue is full is dropped and counted."""
    workers: int = 2
    """Calls of the treatment at once."""
    hung: int = 8
    """Calls that may hang beyond the timeout, each in a thread or task of its own, before no more is asked."""
    failures: int = 5
    """Failures or timeouts in a row after which the breaker opens: the treatment is left alone for a while."""
    pause: float = 30.0
    """Seconds until an open breaker lets one call through to see whether the treatment is well again."""

    def __post_init__(self) -> None:
        for name in ("timeout", "queue", "workers", "hung", "failures", "pause"):
            value = getattr(self, name)
            if not is_number(value) or not value > 0:
                raise UsageError(f"{name}={value!r} is not above 0")
