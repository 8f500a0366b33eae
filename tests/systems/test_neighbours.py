"""Scores shared among neighbours: by hand, beside the definition, and its ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import UsageError
from karat.systems._neighbours import Neighbours, Similarities, share_scores, spread_scores
from karat.systems.index import Dense
from strategies import quick


def test_by_hand() -> None:
    """Neighbours of 0 are 1 (0.8) and 2 (0.6): 0.5 * 1.0 + 0.5 * (0.8 * 0.5 + 0.6 * 0.1) / 1.4 = 0.6642857...

    Neighbours of 1 are 2 (0.96) and 0 (0.8): 0.5 * 0.5 + 0.5 * (0.96 * 0.1 + 0.8 * 1.0) / 1.76 = 0.5045454...
    Neighbours of 2 are 1 (0.96) and 0 (0.6): 0.5 * 0.1 + 0.5 * (0.96 * 0.5 + 0.6 * 1.0) / 1.56 = 0.3961538...
    """
    vectors = [[1.0, 0.0], [0.8, 0.6], [0.6, 0.8]]
    shared = share_scores([1.0, 0.5, 0.1], vectors, weight=0.5, count=2)
    assert shared == pytest.approx([0.93 / 1.4, 0.25 + 0.448 / 1.76, 0.05 + 0.54 / 1.56], abs=1e-12)


def test_strangers_keep_their_scores() -> None:
    """A candidate that is like no other, or the opposite of all others, keeps its own score."""
    assert share_scores([1.0, 0.2], [[1, 0], [0, 1]], weight=0.9).tolist() == [1.0, 0.2]
    assert share_scores([1.0, 0.2], [[1, 0], [-1, 0]], weight=0.9).tolist() == [1.0, 0.2]
    assert share_scores([0.4], [[1, 0]]).tolist() == [0.4]
    assert share_scores([], np.zeros((0, 2))).tolist() == []


def definition(scores: list[float], vectors: np.ndarray, weight: float, count: int) -> list[float]:
    shared = []
    for place, own in enumerate(scores):
        others = [(float(vectors[place] @ vectors[other]), other) for other in range(len(scores)) if other != place]
        nearest = sorted(others, key=lambda pair: (-pair[0], pair[1]))[:count]
        total = sum(max(similar, 0.0) for similar, _ in nearest)
        mean = sum(max(similar, 0.0) * scores[other] for similar, other in nearest) / total if total > 0 else own
        shared.append((1 - weight) * own + weight * mean)
    return shared


@quick
@given(st.integers(0, 12), st.integers(1, 14), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_as_defined(size: int, count: int, weight: float, seed: int) -> None:
    """The matrix form gives what the definition gives, and no score leaves the range of the scores before."""
    rng = np.random.default_rng(seed)
    vectors, scores = rng.normal(size=(size, 3)), rng.random(size).tolist()
    shared = share_scores(scores, vectors, weight=weight, count=count)
    assert shared == pytest.approx(definition(scores, vectors, weight, count), abs=1e-9)
    assert all(min(scores) - 1e-9 <= value <= max(scores) + 1e-9 for value in shared)


@each("options", [{"weight": 1.1}, {"weight": -0.1}, {"count": 0}, {"depth": 0}])
def test_what_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="choose a weight from 0 to 1"):
        Neighbours(**options)


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="pass a row for each"):
        share_scores([1.0, 0.5], [[1.0, 0.0]])
    with pytest.raises(UsageError, match="not finite"):
        share_scores([1.0, float("nan")], [[1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("size", [40, 1100])
def test_the_similarities_of_an_index_are_those_of_its_rows(size: int) -> None:
    """To the last bit, whether those of all pairs are kept, as for a small index, or not."""
    vectors = np.random.default_rng(7).normal(size=(size, 48)).astype(np.float32)
    similarities, numbers = Similarities(Dense(method="exact").build(vectors)), [3, 17, 0, 39, 8]
    rows = vectors[numbers]
    assert similarities.among(numbers).tobytes() == np.einsum("ik,jk->ij", rows, rows).tobytes()
    scores = [0.9, 0.7, 0.5, 0.3, 0.1]
    spread = spread_scores(scores, similarities.among(numbers), weight=0.3, count=2)
    assert spread.tolist() == share_scores(scores, rows, weight=0.3, count=2).tolist()
