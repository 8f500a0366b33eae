"""A second implementation of the step-down test of Westfall and Young, as the text defines it.

It shares no code with karat. ``adjusted_by_hand`` is plain Python over all combinations of signs; ``adjusted_by_draws``
draws signs as a matrix, for data with too many changes to try all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

NEAR = 1e-9


def statistic(differences: Sequence[float]) -> float:
    """Return the sum of the differences over the root of the sum of their squares; 0 where nothing changed."""
    length = math.sqrt(sum(d * d for d in differences))
    return sum(differences) / length if length else 0.0


def adjusted_by_hand(rows: Sequence[Sequence[float]], *, two_sided: bool = False) -> list[float]:
    """Return the adjusted p-values for a drop, or for any difference, from all combinations of signs."""

    def extremity(differences: Sequence[float]) -> float:
        value = statistic(differences)
        return -abs(value) if two_sided else value

    observed = [extremity(row) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: observed[i])
    changed = [q for q in range(len(rows[0])) if any(row[q] for row in rows)]
    counts, ways = [0] * len(rows), 0
    for signs in product((1, -1), repeat=len(changed)):
        ways += 1
        flipped = [extremity([sign * row[q] for sign, q in zip(signs, changed, strict=True)]) for row in rows]
        for place, i in enumerate(order):
            if min(flipped[j] for j in order[place:]) <= observed[i] + NEAR:
                counts[i] += 1
    adjusted = [0.0] * len(rows)
    largest = 0.0
    for i in order:
        largest = max(largest, counts[i] / ways)
        adjusted[i] = largest
    return adjusted


def adjusted_by_draws(rows: NDArray[np.float64], draws: int, seed: int = 0) -> NDArray[np.float64]:
    """Return about the adjusted p-values for a drop, from random signs."""
    rng = np.random.default_rng(seed)
    lengths = np.sqrt((rows**2).sum(axis=1))
    unit = rows / np.where(lengths > 0, lengths, 1)[:, None]
    observed = unit.sum(axis=1)
    flipped = rng.choice([-1.0, 1.0], (draws, rows.shape[1])) @ unit.T
    adjusted = np.empty(len(rows))
    largest = 0.0
    order = np.argsort(observed)
    for place, i in enumerate(order):
        share = (1 + (flipped[:, order[place:]].min(axis=1) <= observed[i] + NEAR).sum()) / (draws + 1)
        adjusted[i] = largest = max(largest, float(share))
    return adjusted
