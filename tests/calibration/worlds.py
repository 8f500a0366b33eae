"""Simulated retrieval: two runs of one search engine on the same queries, scored as real ones are.

A query has one to three relevant documents among thirty. A document's score is its own, the same in both runs, plus
noise of each run: new embeddings, another order of ties, a different chunk. Relevant documents score higher, by more
for an easy query than for a hard one. The scores of measures follow from the ranks, hence lie in [0, 1], take few
values, and are the same in both runs for most queries.

Both runs have the same noise, so that by default there is no change. With ``harm`` every relevant document of the
candidate scores lower; with ``lost`` this share of the queries finds none of them, as if they had not been indexed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Scores = dict[str, tuple[Floats, Floats]]

MEASURES = ("RR@10", "R@5", "P@5", "nDCG@5")
DOCUMENTS, RELEVANT = 30, 3
LIFT = 2.6
"""By how much relevant documents score higher on average, in standard deviations of the others."""
HARM, HARM_BY_THE_MARGIN = 0.74, 0.205
"""The harm at which RR@10 drops by a fifth, and by a twentieth, which is the margin of the gate."""


def runs(
    rng: np.random.Generator, shape: tuple[int, ...], *, noise: float = 0.3, harm: float = 0.0, lost: float = 0.0
) -> Scores:
    """Return the scores of baseline and candidate by measure, in arrays of this shape; the last axis is queries."""
    own = rng.standard_normal((*shape, DOCUMENTS), dtype=np.float32)
    count = rng.choice([1, 2, 3], size=shape, p=[0.6, 0.25, 0.15])
    relevant = np.arange(RELEVANT) < count[..., None]
    own[..., :RELEVANT] += np.where(relevant, LIFT + rng.standard_normal(shape)[..., None], 0.0)
    before, after = (_ranks(rng, own, relevant, noise, drop) for drop in (0.0, harm))
    if lost:
        after[rng.random(shape) < lost] = np.inf
    return {measure: (_score(before, count, measure), _score(after, count, measure)) for measure in MEASURES}


def _ranks(
    rng: np.random.Generator, own: NDArray[np.float32], relevant: NDArray[np.bool_], noise: float, harm: float
) -> Floats:
    """Return the ranks of the relevant documents in one run; beyond the number of relevant ones, infinite."""
    scores = own + noise * rng.standard_normal(own.shape, dtype=np.float32)
    scores[..., :RELEVANT] -= np.where(relevant, np.float32(harm), np.float32(0))
    higher = np.stack([(scores > scores[..., i, None]).sum(axis=-1) for i in range(RELEVANT)], axis=-1)
    return np.where(relevant, 1.0 + higher, np.inf)


def _score(ranks: Floats, count: NDArray[np.int64], measure: str) -> Floats:
    if measure == "RR@10":
        best = ranks.min(axis=-1)
        return np.where(best <= 10, 1 / best, 0.0)
    top = ranks <= 5
    if measure == "nDCG@5":
        ideal = np.cumsum(1 / np.log2(np.arange(2, 2 + RELEVANT)))[count - 1]
        return np.where(top, 1 / np.log2(1 + ranks), 0.0).sum(axis=-1) / ideal
    return top.sum(axis=-1) / (count if measure == "R@5" else 5)
