"""Novelty: how far new documents are from what is there, by their vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.systems import Inspector

_BLOCK = 1 << 22  # cosines at a time: 16 MB


@dataclass(frozen=True, slots=True)
class Novelty:
    """Both forms; 0 is a copy, and 1 has nothing in common."""

    mean: float
    """The mean over the chunks of 1 less the highest cosine with a chunk that is there, as rig computes it."""
    max: float
    """1 less the highest cosine of all pairs, as rig describes it: one copied chunk makes it 0."""


def measure_novelty(known: Inspector, extended: Inspector) -> Novelty | None:
    """Return the novelty of what an extended pipeline has beside a known one; None without vectors."""
    before, after = known.pipeline.indexes["dense"], extended.pipeline.indexes["dense"]
    if before is None or after is None:
        return None
    old, all_ = len(known.chunks), len(extended.chunks)
    rows = np.asarray(after.rows(range(old, all_)), np.float64)
    return compute_novelty(rows, np.asarray(before.rows(range(old)), np.float64))


def compute_novelty(new: NDArray[np.float64], known: NDArray[np.float64]) -> Novelty:
    """Return the novelty of vectors of length 1.

    Without new vectors it is 0, without known ones 1, and a negative cosine counts as 0.

    >>> compute_novelty(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]))
    Novelty(mean=0.5, max=0.0)
    """
    if not len(new):
        return Novelty(0.0, 0.0)
    if not len(known):
        return Novelty(1.0, 1.0)
    step = max(1, _BLOCK // len(known))
    nearest = np.concatenate([(new[start : start + step] @ known.T).max(axis=1) for start in range(0, len(new), step)])
    distances = 1.0 - np.clip(nearest, 0.0, 1.0)
    return Novelty(float(distances.mean()), float(distances.min()))
