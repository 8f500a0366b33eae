"""Vectors as the rows of a matrix, and what all indexes of vectors share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.core import UsageError
from karat.systems.index._ranking import best
from karat.systems.index._saved import Path_

Vectors = NDArray[np.float32]

_ROWS = 1 << 12  # of a block in double precision


class VectorIndex(Protocol):
    """An index that finds the vectors most similar to a query's."""

    def __len__(self) -> int: ...

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what is found, apart from the vectors."""
        ...

    def search(self, query: ArrayLike, k: int) -> list[tuple[int, float]]:
        """Return the numbers and inner products of the k best vectors, best first, equal ones by number."""
        ...

    def search_many(self, queries: ArrayLike, k: int) -> list[list[tuple[int, float]]]:
        """Search for each row of a matrix; faster than one by one, with the same hits."""
        ...

    def rows(self, numbers: Sequence[int]) -> Vectors:
        """Return the vectors with these numbers."""
        ...

    def save(self, path: Path_, fingerprint: str) -> None:
        """Write the index to one file, with the fingerprint of what it was built from."""
        ...


def check_vectors(vectors: ArrayLike, size: int | None = None) -> Vectors:
    """Return a read-only matrix of finite numbers in single precision; raise UsageError for anything else."""
    matrix = np.ascontiguousarray(vectors, np.float32)
    if matrix.ndim != 2:
        raise UsageError(f"vectors of shape {matrix.shape}; pass a matrix with one row for each")
    if size is not None and matrix.shape[1] != size:
        raise UsageError(f"a query of {matrix.shape[1]} dimensions for an index of {size}; embed both alike")
    squares = np.einsum("ij,ij->i", matrix, matrix)
    if not np.isfinite(squares).all():
        broken = int(np.flatnonzero(~np.isfinite(squares))[0])
        raise UsageError(f"vector {broken} holds a number that is not finite, or too large")
    view = matrix.view()  # the caller's own array stays writable
    view.setflags(write=False)
    return view


def rank(
    numbers: NDArray[Any], rows: Callable[[NDArray[Any]], Vectors], query: Vectors, k: int
) -> list[tuple[int, float]]:
    """Return the k best of numbered vectors by their inner product with a query, in double precision."""
    target = query.astype(np.float64)
    scores = np.empty(len(numbers))
    for start in range(0, len(numbers), _ROWS):
        block = slice(start, start + _ROWS)
        # Not a matrix product: a row's sum must not depend on the rows beside it.
        scores[block] = (rows(numbers[block]).astype(np.float64) * target).sum(axis=1)
    places = best(scores, k)
    return list(zip(numbers[places].tolist(), scores[places].tolist(), strict=True))
