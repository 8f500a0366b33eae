"""Scores that are shared among neighbours: a candidate that is like good candidates moves up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError
from karat.systems.index import VectorIndex

_TABLE = 1024
"""Up to so many vectors the similarities of all pairs are kept, which take 4 MB and as long as those of a few lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Smoothing of scores over neighbours among the first candidates; see :func:`share_scores`."""

    weight: float = 0.3
    """The share of the neighbours in a new score; 0 changes nothing."""
    count: int = 5
    """The number of neighbours."""
    depth: int = 100
    """The number of candidates that share scores; the others stay below them."""

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1 or self.count < 1 or self.depth < 1:
            raise UsageError(
                f"weight={self.weight}, count={self.count}, depth={self.depth}; choose a weight from 0 to 1, and count "
                "and depth from 1 up"
            )

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result."""
        return {"weight": self.weight, "count": self.count, "depth": self.depth}


def share_scores(
    scores: Sequence[float], vectors: ArrayLike, *, weight: float = 0.3, count: int = 5
) -> NDArray[np.float64]:
    """Return ``(1 - weight) * score + weight * mean score of the nearest neighbours`` of each candidate.

    Documents that answer the same question are like each other, and so should be their scores (score regularisation,
    Diaz 2005). The mean is over the ``count`` other candidates with the highest inner products, and weighted by these;
    where none is positive, a candidate keeps its own score. Scores should be on one scale, such as that of
    :func:`minmax`.

    >>> vectors = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    >>> share_scores([1.0, 0.5, 0.4], vectors, weight=0.5, count=1).tolist()
    [0.7, 0.5, 0.7]
    """
    matrix = np.asarray(vectors)
    if matrix.ndim != 2 or len(matrix) != len(scores):
        raise UsageError(f"vectors of shape {matrix.shape} for {len(scores)} candidates; pass a row for each")
    if not (np.isfinite(scores).all() and np.isfinite(matrix).all()):
        raise UsageError("a score or a vector is not finite")
    return spread_scores(scores, _multiply(matrix), weight=weight, count=count)


class Similarities:
    """The inner products of the vectors of an index with each other.

    Those of a small index are computed once: many lists have the same candidates. They are the same to the last bit.
    """

    def __init__(self, index: VectorIndex) -> None:
        self._index = index
        self._table: NDArray[Any] | None = None

    def among(self, numbers: Sequence[int]) -> NDArray[Any]:
        """Return a row and a column for each of some vectors."""
        if len(self._index) > _TABLE:
            return _multiply(self._index.rows(numbers))
        if self._table is None:
            self._table = _multiply(self._index.rows(range(len(self._index))))
        return self._table.take(numbers, axis=0).take(numbers, axis=1)


def _multiply(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the inner products of all pairs of rows."""
    # Not as a matrix product: for so few rows its threads cost more than they give, and the more on a busy machine.
    products: NDArray[Any] = np.einsum("ik,jk->ij", matrix, matrix)
    return products


def spread_scores(
    scores: Sequence[float], similarities: NDArray[Any], *, weight: float, count: int
) -> NDArray[np.float64]:
    """Return the scores that :func:`share_scores` returns for vectors with these inner products."""
    own = np.asarray(scores, np.float64)
    if len(own) < 2:
        return own
    similar = similarities.astype(np.float64)
    np.fill_diagonal(similar, -np.inf)
    nearest, shares = _find_nearest(similar, min(count, len(own) - 1))
    total = shares.sum(axis=1)
    mean = np.divide((shares * own[nearest]).sum(axis=1), total, out=own.copy(), where=total > 0)
    shared: NDArray[np.float64] = (1 - weight) * own + weight * mean
    return shared


def _find_nearest(similar: NDArray[np.float64], count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the places of the ``count`` highest values of each row, the earlier of equal ones first, and the values.

    Negative values are returned as 0. The highest is looked for again and again: sorting whole rows takes ten times as
    long for few neighbours.
    """
    rows = np.arange(len(similar))
    nearest = np.empty((len(similar), count), np.intp)
    values = np.empty((len(similar), count))
    for place in range(count):
        best = similar.argmax(axis=1)
        nearest[:, place], values[:, place] = best, similar[rows, best]
        similar[rows, best] = -np.inf
    return nearest, values.clip(0)
