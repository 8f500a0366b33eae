"""The response of an embedding server: vectors, or an error message."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import SystemFailed, shorten
from karat.net import find_message


def read_vectors(response: Any, count: int, size: int | None) -> NDArray[np.float64]:
    """Return the vectors of a response in the order of the texts; raise SystemFailed if it is anything else.

    >>> read_vectors({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [2, 0]}]}, 2, None).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    items = response.get("data") if isinstance(response, dict) else None
    if not isinstance(items, list):
        raise SystemFailed(f"returned no embeddings: {find_message(response) or shorten(response)}")
    if len(items) != count:
        raise SystemFailed(f"returned {len(items)} vectors for {count} texts")
    try:
        vectors = [item["embedding"] for item in items]
        indexes = [item.get("index") for item in items]
    except (TypeError, KeyError, AttributeError):
        raise SystemFailed(f"returned no embeddings: {shorten(response)}") from None
    if indexes == [None] * count:  # some servers leave it out and keep the order
        indexes = list(range(count))
    if set(map(repr, indexes)) != set(map(repr, range(count))):
        raise SystemFailed(f"numbered the vectors of {count} texts {shorten(indexes)}")
    return _matrix(vectors, size)[np.argsort(indexes)]


def _matrix(vectors: list[Any], size: int | None) -> NDArray[np.float64]:
    try:
        matrix = np.array(vectors)
    except ValueError:
        raise SystemFailed(f"returned vectors of different lengths: {shorten(vectors)}") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or not matrix.shape[1]:
        raise SystemFailed(f"returned vectors that are not lists of numbers: {shorten(vectors)}")
    if size is not None and matrix.shape[1] != size:
        raise SystemFailed(f"returned vectors of {matrix.shape[1]} dimensions, not of {size}")
    if not np.isfinite(matrix).all():
        raise SystemFailed("returned a vector with a number that is not finite")
    return matrix.astype(np.float64)
