"""Sums down a ranking, for all queries at once."""

from __future__ import annotations

import numpy as np

from karat.core import Floats
from karat.measures._alignment import Hits, Ints


class Prefix:
    """Sums of the first n values of each query, for values at ranks 1, 2, 3, ..."""

    def __init__(self, hits: Hits, values: Floats) -> None:
        self._counts = hits.count()
        self._firsts = np.cumsum(self._counts) - self._counts
        self._sums = np.empty(len(values) + 1)
        running = np.zeros(hits.queries)
        for level in hits.levels():
            query = hits.query[level]
            running[query] += values[level]
            self._sums[level] = running[query]

    def __call__(self, query: Ints, rank: Ints) -> Floats:
        n = np.minimum(rank, self._counts[query])
        return np.where(n > 0, self._sums[self._firsts[query] + n - 1], 0.0)


class PrefixByRank(Prefix):
    """Sums of the values at ranks up to r, for hits at any ranks."""

    def __init__(self, hits: Hits, values: Floats) -> None:
        super().__init__(hits, values)
        self._width = int(hits.rank.max(initial=0)) + 1
        self._keys = hits.query * self._width + hits.rank

    def __call__(self, query: Ints, rank: Ints) -> Floats:
        key = query * self._width + np.minimum(rank, self._width - 1)
        n = np.searchsorted(self._keys, key, "right") - self._firsts[query]
        return super().__call__(query, n)
