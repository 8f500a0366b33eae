"""MaxSim: how well each word of a query is met somewhere in a text, by the vectors of their tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError


def maxsim(query: NDArray[np.float32], texts: Sequence[NDArray[np.float32]]) -> list[float]:
    """Give, for each text, the mean over the query's tokens of the highest inner product with one of the text's.

    Arguments are matrices with one row for each token, of length 1. Khattab & Zaharia 2020 take the sum; the mean
    orders texts alike, and lies between -1 and 1 whatever the length of the query.

    >>> one, other = np.array([[1.0, 0.0]], np.float32), np.array([[0.6, 0.8], [0.0, 1.0]], np.float32)
    >>> [round(score, 3) for score in maxsim(one, [one, other])]
    [1.0, 0.6]
    """
    if not texts:
        return []
    if any(matrix.ndim != 2 or not len(matrix) or matrix.shape[1] != query.shape[-1] for matrix in (query, *texts)):
        raise UsageError("tokens of query and texts are matrices of one width, each with at least one row")
    starts = np.cumsum([0, *(len(text) for text in texts[:-1])])
    products = query @ np.concatenate(texts).T
    met = np.maximum.reduceat(products, starts, axis=1)
    scores: list[float] = met.mean(axis=0, dtype=np.float64).tolist()
    return scores
