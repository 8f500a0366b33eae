"""Differences as two retrieval runs give them: few values, many zeros, and all the awkward cases."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

FRACTIONS = [0.0, 0.0, 0.0, 1.0, 0.5, 1 / 3, 0.25, 0.2, 1 / 6, 0.1]
SCORES = st.sampled_from(FRACTIONS)

differences = st.lists(st.builds(lambda a, b: a - b, SCORES, SCORES), min_size=2, max_size=40)
spread = differences.filter(lambda values: max(values) - min(values) > 1e-9)
"""Differences that are not all the same."""


def drawn(n: int, seed: int = 0, *, zeros: float = 0.5, shift: float = 0.0) -> NDArray[np.float64]:
    """Return n differences, about a share ``zeros`` of them 0."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < zeros, 0.0, rng.normal(shift, 0.3, n).clip(-1, 1))
