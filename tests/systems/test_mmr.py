"""Maximal marginal relevance: by hand, beside the definition, and its two ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import UsageError
from karat.systems._mmr import mmr
from strategies import quick


def test_by_hand() -> None:
    """The copy of the first hit waits until a worse hit that says something else has come.

    After 0: value of 1 is 0.5 * 0.9 - 0.5 * 1 = -0.05, of 2 it is 0.5 * 0.4 - 0 = 0.2, of 3 0.5 * 0.8 - 0.5 * 0.8 = 0.
    After 2: of 1 still -0.05, of 3 it is 0.5 * 0.8 - 0.5 * max(0.8, 0.6) = 0.
    """
    vectors = [[1, 0], [1, 0], [0, 1], [0.8, 0.6]]
    assert mmr([1.0, 0.9, 0.4, 0.8], vectors) == [0, 2, 3, 1]
    assert mmr([1.0, 0.9, 0.4, 0.8], vectors, k=2) == [0, 2]
    assert mmr([], np.zeros((0, 2))) == []


def test_opposites_are_no_closer_than_nothing() -> None:
    """The highest similarity counts, also when all are negative."""
    assert mmr([1.0, 0.5, 0.5], [[1, 0], [-0.5, 0], [-1, 0]]) == [0, 2, 1]


def definition(scores: list[float], vectors: np.ndarray, balance: float) -> list[int]:
    order: list[int] = []
    while len(order) < len(scores):
        left = [i for i in range(len(scores)) if i not in order]
        value = {
            i: balance * scores[i]
            - (1 - balance) * max((float((vectors[i] * vectors[j]).sum()) for j in order), default=0.0)
            for i in left
        }
        order.append(max(left, key=lambda i: (value[i], -i)))
    return order


HITS = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), max_size=9
)


@quick
@given(HITS, st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]))
def test_equals_the_definition(hits: list[tuple[float, float, float]], balance: float) -> None:
    """Every choice is the best that is left, by the formula taken literally."""
    scores = [score for score, *_ in hits]
    vectors = np.array([vector for _, *vector in hits], float).reshape(len(hits), 2)
    assert mmr(scores, vectors, balance=balance) == definition(scores, vectors, balance)


@quick
@given(HITS)
def test_balance_1_keeps_the_order(hits: list[tuple[float, float, float]]) -> None:
    """Hits that come best first stay as they are when variety counts for nothing."""
    scores = sorted((score for score, *_ in hits), reverse=True)
    vectors = np.array([vector for _, *vector in hits], float).reshape(len(hits), 2)
    assert mmr(scores, vectors, balance=1) == list(range(len(hits)))


@each(
    ("options", "message"),
    [
        ({"balance": 1.5}, "balance=1.5"),
        ({"balance": math.nan}, "balance=nan"),
        ({"k": 0}, "k=0"),
        ({"scores": [1.0]}, r"vectors of shape \(2, 2\) for 1 hits"),
        ({"scores": [1.0, math.nan]}, "not finite"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    """What makes no sense is refused."""
    with pytest.raises(UsageError, match=message):
        mmr(**{"scores": [1.0, 0.5], "vectors": [[1, 0], [0, 1]], **options})
