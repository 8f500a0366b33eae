"""Results for texts, kept while they are likely to be needed again.

One command asks for the canonical form of a document many times: to lint it, to cut it into chunks, to resolve its
judgments and to sort them by block type. A cache that counts entries is no bound when a text may be a word or a
book, so this one counts characters.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Memory(Generic[Result]):
    """A cache of results by text, which holds texts of at most ``limit`` characters in all and drops the oldest first.

    >>> memory = Memory(limit=6)
    >>> [memory.get(text, len) for text in ("pool", "pool", "spa")], "pool" in memory, "spa" in memory
    ([4, 4, 3], False, True)
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._results: dict[str, Result] = {}
        self._lock = Lock()

    def __contains__(self, text: str) -> bool:
        return text in self._results

    def get(self, text: str, make: Callable[[str], Result]) -> Result:
        """Return the result for a text, which ``make`` computes unless it is kept already."""
        try:
            return self._results[text]
        except KeyError:
            result = make(text)
        if len(text) <= self._limit:
            self._keep(text, result)
        return result

    def _keep(self, text: str, result: Result) -> None:
        with self._lock:
            if text not in self._results:  # another thread may have been faster
                self._results[text] = result
                self._size += len(text)
            while self._size > self._limit:
                oldest = next(iter(self._results))
                del self._results[oldest]
                self._size -= len(oldest)
