"""Interleaving under four kinds of people who click: it finds the better system, and none where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from searchers import WORLDS, click

from karat.online.interleaving import compare_session, interleave
from karat.stats.sequential import Decision, Tally, assess

pytestmark = pytest.mark.calibration

Floats = NDArray[np.float64]
POOL, SHOWN = 20, 10


def rank(attraction: Floats, noise: float, rng: np.random.Generator) -> list[str]:
    """Return a system's list: the more noise, the worse it is."""
    scores = np.log(attraction / (1 - attraction)) + noise * rng.normal(size=POOL)
    return [str(document) for document in np.argsort(-scores)[:SHOWN]]


def draw_attraction(rng: np.random.Generator) -> Floats:
    """Return how attractive the documents of a query are; one of five is good."""
    good = rng.random(POOL) < 0.2
    return np.where(good, rng.uniform(0.3, 0.8, POOL), rng.uniform(0.01, 0.15, POOL))


def watch(world: str, noises: dict[str, float], sessions: int, seed: int) -> Floats:
    """Return what each session says on the first system against each of the others; it has two pages."""
    rng = np.random.default_rng(seed)
    lists, looks = [], []
    for page in range(2 * sessions):
        attraction = draw_attraction(rng)
        rankings = {system: rank(attraction, noise, rng) for system, noise in noises.items()}
        lists.append(interleave(rankings, SHOWN, session=f"{seed}-{page // 2}", query=f"q{page % 2}"))
        looks.append(attraction[[int(document) for document in lists[-1].documents]])
    clicks = click(world, np.array(looks), rng)
    pages = [(shown, np.array(shown.documents)[own].tolist()) for shown, own in zip(lists, clicks, strict=True)]
    first, *others = noises
    pairs = (pages[start : start + 2] for start in range(0, len(pages), 2))
    return np.array([[compare_session(pair, first, other) for other in others] for pair in pairs])


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_better_system_is_found_and_an_equal_one_is_not(world: str) -> None:
    """600 sessions: the better one is more than three standard errors ahead and graduates; an equal one is within."""
    seed = WORLDS.index(world)
    better = watch(world, {"new": 1.0, "old": 2.0}, 600, seed).ravel()
    equal = watch(world, {"new": 2.0, "old": 2.0}, 600, 50 + seed).ravel()
    assert better.mean() > 3 * better.std() / np.sqrt(len(better))
    assert abs(equal.mean()) < 3 * equal.std() / np.sqrt(len(equal))
    assert assess(Tally.of(better)).decision is Decision.GRADUATE
    assert assess(Tally.of(-better)).decision is Decision.HARM
    assert assess(Tally.of(equal)).decision in (Decision.CONTINUE, Decision.FUTILE)


@pytest.mark.slow
def test_three_systems_in_one_list() -> None:
    """The best one is ahead of both others, and farther of the worst."""
    said = watch("mix", {"good": 0.8, "fair": 2.0, "poor": 4.0}, 600, 99)
    fair, poor = said.mean(axis=0)
    assert fair > 3 * said[:, 0].std() / np.sqrt(len(said))
    assert poor > fair


@pytest.mark.slow
def test_clicks_on_the_control_are_unfair_to_the_shadow() -> None:
    """An equal system that nobody saw is judged by clicks on the control's list: its RR is far too low, every time.

    That is why nothing graduates from clicks alone, and why interleaving is there.
    """
    rng = np.random.default_rng(5)
    attractions = [draw_attraction(rng) for _ in range(300)]
    control, shadow = ([rank(attraction, 2.0, rng) for attraction in attractions] for _ in range(2))
    looks = [own[[int(document) for document in shown]] for own, shown in zip(attractions, control, strict=True)]
    for world in WORLDS:
        clicked = click(world, np.array(looks), rng)
        chosen = [set(np.array(shown)[own]) for shown, own in zip(control, clicked, strict=True)]
        seen, unseen = (np.mean([*map(reciprocal_rank, lists, chosen)]) for lists in (control, shadow))
        assert unseen - seen < -0.1


def reciprocal_rank(ranking: list[str], chosen: set[str]) -> float:
    return next((1 / place for place, document in enumerate(ranking, 1) if document in chosen), 0.0)
