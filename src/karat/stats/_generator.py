"""Random generators that are explicit: the same seed and name, the same numbers."""

from __future__ import annotations

import hashlib

import numpy as np


def make_generator(seed: int, measure: str, segment: tuple[str, str] | None = None) -> np.random.Generator:
    """Return a random generator for a measure, so that adding a measure does not change the numbers of the others.

    >>> make_generator(0, "RR@10").random() == make_generator(0, "RR@10").random() != make_generator(0, "R@5").random()
    True
    """
    digest = hashlib.sha256(f"{seed}\0{measure}\0{segment}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32).tolist())
