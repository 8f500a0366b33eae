"""What a server answered: vectors, or words that say why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.core import SystemFailed, shorten
from karat.net import find_message


def rows_of(answer: Any, count: int, size: int | None) -> NDArray[np.float64]:
    """Give the vectors of an answer in the order of the texts; raise SystemFailed where they are not that.

    >>> rows_of({"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [2, 0]}]}, 2, None).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list):
        raise SystemFailed(f"gave no embeddings: {find_message(answer) or shorten(answer)}")
    if len(items) != count:
        raise SystemFailed(f"gave {len(items)} vectors for {count} texts")
    try:
        vectors = [item["embedding"] for item in items]
        indexes = [item.get("index") for item in items]
    except (TypeError, KeyError, AttributeError):
        raise SystemFailed(f"gave no embeddings: {shorten(answer)}") from None
    if indexes == [None] * count:  # some servers leave it out, and keep the order
        indexes = list(range(count))
    if set(map(repr, indexes)) != set(map(repr, range(count))):
        raise SystemFailed(f"numbered the vectors of {count} texts {shorten(indexes)}")
    return _matrix(vectors, size)[np.argsort(indexes)]


def _matrix(vectors: list[Any], size: int | None) -> NDArray[np.float64]:
    try:
        found = np.array(vectors)
    except ValueError:
        raise SystemFailed(f"gave vectors of different lengths: {shorten(vectors)}") from None
    if found.ndim != 2 or found.dtype.kind not in "iuf" or not found.shape[1]:
        raise SystemFailed(f"gave vectors that are no lists of numbers: {shorten(vectors)}")
    if size is not None and found.shape[1] != size:
        raise SystemFailed(f"gave vectors of {found.shape[1]} numbers, not of {size}")
    if not np.isfinite(found).all():
        raise SystemFailed("gave a vector with a number that is not finite")
    return found.astype(np.float64)
