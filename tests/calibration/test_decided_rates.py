"""How often the confidence of ``golden pool --decide`` is right, on simulated runs of which the truth is known.

Documents of 40 candidates per query are relevant as often as their query, their quality and chance let them be. Two
runs rank them by their quality with noise of their own. What is judged is chosen in the ways that qrels come about,
most of them unfair: mostly relevant documents, what one run found, or what people clicked in it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from zlib import crc32

import numpy as np
import pytest

from karat.core import Floats
from karat.stats import estimate_difference

pytestmark = pytest.mark.calibration

PAIRS, CANDIDATES, CUTOFF = 400, 40, 10
Generator = np.random.Generator
Pool = tuple[Floats, Floats, Floats, Floats]


def draw_pool(rng: Generator) -> Pool:
    """Return what tells two runs apart on DCG@10: weights, gains, and the ranks in both."""
    noise = rng.uniform(0.5, 2.0)
    noises, ease = (noise, noise * np.exp(rng.normal(0, 0.12))), rng.normal(-1.5, 0.5)
    shape = (int(rng.choice([30, 100, 225])), CANDIDATES)
    quality, shared = rng.normal(size=shape), 0.8 * rng.normal(size=shape)
    chance = 1 / (1 + np.exp(-(ease + 0.7 * rng.normal(size=(shape[0], 1)) + 1.5 * quality)))
    gains = (rng.random(shape) < chance).astype(float)
    first, second = ((-(quality + shared + own * rng.normal(size=shape))).argsort(1).argsort(1) + 1.0 for own in noises)
    weights = discount(second) - discount(first)
    apart = weights != 0
    return weights[apart], gains[apart], first[apart], second[apart]


def discount(ranks: Floats) -> Floats:
    return np.where(ranks <= CUTOFF, 1 / np.log2(ranks + 1), 0.0)


def by_weight(rng: Generator, pool: Pool) -> Floats:
    """What ``--decide`` lists first."""
    order = np.argsort(-np.abs(pool[0]), kind="stable")
    return order.argsort() < rng.uniform(0.03, 0.6) * len(order)


def at_random(rng: Generator, pool: Pool) -> Floats:
    return rng.random(len(pool[0])) < rng.uniform(0.05, 0.7)


def mostly_relevant(rng: Generator, pool: Pool) -> Floats:
    """As in Cranfield: most of what is relevant, and hardly anything else."""
    chance = np.where(pool[1] > 0, rng.uniform(0.2, 0.95), rng.uniform(0, 0.06))
    return rng.random(len(chance)) < chance


def of_the_first(rng: Generator, pool: Pool) -> Floats:
    return pool[2] <= rng.integers(2, CUTOFF + 1)


def mostly_relevant_of_the_first(rng: Generator, pool: Pool) -> Floats:
    chance = np.where(pool[2] <= CUTOFF, np.where(pool[1] > 0, 0.8, 0.08), 0.3 * pool[1])
    return rng.random(len(chance)) < chance


def clicked_in_the_first(rng: Generator, pool: Pool) -> Floats:
    seen = (pool[2] <= CUTOFF) & (rng.random(len(pool[0])) < 1 / np.log2(pool[2] + 1))
    return seen & ((pool[1] > 0) | (rng.random(len(pool[0])) < 0.2))


def relevant_of_the_first_and_best_of_the_second(rng: Generator, pool: Pool) -> Floats:
    best = (pool[3] <= 1) & (rng.random(len(pool[0])) < 0.5)
    return ((pool[1] > 0) & (pool[2] <= CUTOFF)) | best


WAYS: dict[Callable[[Generator, Pool], Floats], int] = {
    by_weight: 100,
    at_random: 40,
    mostly_relevant: 0,
    of_the_first: 0,
    mostly_relevant_of_the_first: 0,
    clicked_in_the_first: 0,
    relevant_of_the_first_and_best_of_the_second: 0,
}
"""How documents come to be judged, and how many pairs of runs at least are decided with 90 % where that is fair."""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_confidence_is_right_as_often_as_it_says(way: Callable[[Generator, Pool], Floats]) -> None:
    """From 60 % up, in bands: the share of right decisions is not below the mean confidence, but for chance."""
    rng = np.random.default_rng(crc32(way.__name__.encode()))
    rows = []
    for _ in range(PAIRS):
        pool = draw_pool(rng)
        estimate = estimate_difference(pool[0], np.where(way(rng, pool), pool[1], np.nan))
        rows.append((estimate.confidence, estimate.judged * (pool[0] * pool[1]).sum() > 0))
    confidence, right = np.array(rows, float).T
    for low, high in ((0.6, 0.8), (0.8, 0.9), (0.9, 1.01), (0.95, 1.01)):
        band = (confidence >= low) & (confidence < high)
        said = confidence[band].mean() if band.any() else 1.0
        room = 3 * sqrt(said * (1 - said) / max(1, band.sum()))
        assert not band.any() or right[band].mean() >= said - room
    assert (confidence >= 0.9).sum() >= WAYS[way]
