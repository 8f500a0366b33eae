"""Maximal marginal relevance: hits that repeat an earlier one move down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Variety:
    """Maximal marginal relevance among the first candidates; see :func:`mmr`."""

    balance: float = 0.7
    """1 is relevance alone, 0 is variety alone."""
    depth: int = 50
    """The number of candidates that are ordered, or of requested hits, if that is more."""

    def __post_init__(self) -> None:
        if not 0 <= self.balance <= 1 or self.depth < 1:
            raise UsageError(
                f"balance={self.balance}, depth={self.depth}; choose balance from 0 to 1 and depth from 1 up"
            )

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the result."""
        return {"balance": self.balance, "depth": self.depth}


def mmr(scores: Sequence[float], vectors: ArrayLike, *, balance: float = 0.5, k: int | None = None) -> list[int]:
    """Return the places of the hits, each the best of those left (Carbonell & Goldstein 1998).

    The best maximises ``balance * score - (1 - balance) * similarity``, where similarity is the highest inner product
    with a hit before it; of equal ones the earlier place. Scores should be on the scale of similarities: cosines, or
    the result of :func:`minmax`. With balance 1 hits that are sorted by score keep their order.

    >>> twins = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> mmr([0.9, 0.8, 0.5], twins), mmr([0.9, 0.8, 0.5], twins, balance=1)
    ([0, 2, 1], [0, 1, 2])
    """
    relevance = np.asarray(scores, np.float64)
    matrix = np.asarray(vectors, np.float64)
    _check(relevance, matrix, balance, k)
    left = np.ones(len(relevance), bool)
    nearest = np.zeros(len(relevance))  # there is no hit before the first
    order: list[int] = []
    for _ in range(len(relevance) if k is None else min(k, len(relevance))):
        value = np.where(left, balance * relevance - (1 - balance) * nearest, -np.inf)
        best = int(np.argmax(value))
        # Row by row, not as a matrix product: equal vectors are equally similar, to the last bit.
        similar = (matrix * matrix[best]).sum(axis=1)
        nearest = similar if not order else np.maximum(nearest, similar)
        left[best] = False
        order.append(best)
    return order


def _check(relevance: NDArray[np.float64], matrix: NDArray[np.float64], balance: float, k: int | None) -> None:
    if not 0 <= balance <= 1:
        raise UsageError(f"balance={balance}; choose a number from 0 (only variety) to 1 (only relevance)")
    if k is not None and k < 1:
        raise UsageError(f"k={k}; ask for at least one hit")
    if matrix.ndim != 2 or len(matrix) != len(relevance):
        raise UsageError(f"vectors of shape {matrix.shape} for {len(relevance)} hits; pass a row for each")
    if not (np.isfinite(relevance).all() and np.isfinite(matrix).all()):
        raise UsageError("a score or a vector is not finite")
