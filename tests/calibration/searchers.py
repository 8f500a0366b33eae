"""Simulated people who search: how relevant every item is, and how they look at a list, is known.

``position``: whether somebody looks at a rank depends on the rank alone.
``cascade``: they read from the top, and stop after the first click.
``mix``: half are like the first, less steep; three in ten read from the top, go on after three clicks of ten, and may
give up at every rank; the others read from the bottom. No model fits that.
``trust``: like the first, but what stands at the top is also clicked because it stands there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from karat.stats.clicks import (
    Attractions,
    Impressions,
    combine_intervals,
    estimate_coec,
    estimate_ctr,
    estimate_ips,
    estimate_propensities,
    estimate_sdbn,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WORLDS = ("position", "cascade", "mix", "trust")
DEPTH = 10


@dataclass(frozen=True, eq=False)
class Traffic:
    """What was shown and clicked, and the truth."""

    shown: Impressions
    attraction: Floats
    """By item: how many of those who look at it click it. Items of one query follow each other, ten of each."""


def simulate(world: str, *, queries: int, pages: int, rng: np.random.Generator, shuffled: bool = False) -> Traffic:
    """Return traffic: each query is asked ``pages`` times.

    The system always over- or underrates an item, and every time it ranks a little differently; or it shuffles all.
    """
    good = rng.random((queries, DEPTH)) < 0.3
    attraction = np.where(good, rng.uniform(0.3, 0.8, good.shape), rng.uniform(0.01, 0.15, good.shape))
    query = np.repeat(np.arange(queries), pages)
    scores = np.log(attraction / (1 - attraction)) + 2.0 * rng.normal(size=attraction.shape)
    order = np.argsort(rng.normal(size=(len(query), DEPTH)) - (0 if shuffled else scores[query]), axis=1)
    items = query[:, None] * DEPTH + order
    clicks = click(world, attraction.ravel()[items], rng)
    shown = Impressions(
        pages=np.repeat(np.arange(len(query)), DEPTH),
        items=items.ravel(),
        ranks=np.tile(np.arange(1, DEPTH + 1), len(query)),
        clicks=clicks.ravel(),
    )
    return Traffic(shown, attraction.ravel())


def click(world: str, attraction: Floats, rng: np.random.Generator) -> Bools:
    """Return what people click, a row for each list and a column for each rank."""
    if world == "position":
        return _look(attraction, 1.0, rng)
    if world == "cascade":
        return _read(attraction, rng)
    if world == "trust":
        ranks = np.arange(1, attraction.shape[1] + 1)
        return _look(attraction + (1 - attraction) * 0.3 / ranks**2, 1.0, rng)
    kind = rng.random((len(attraction), 1))
    upwards = _read(attraction[:, ::-1], rng)[:, ::-1]
    downwards = _read(attraction, rng, patience=0.85, satisfied=0.7)
    return np.where(kind < 0.5, _look(attraction, 0.5, rng), np.where(kind < 0.8, downwards, upwards))


def _look(attraction: Floats, steepness: float, rng: np.random.Generator) -> Bools:
    looked = np.arange(1, attraction.shape[1] + 1) ** -steepness
    return np.asarray(rng.random(attraction.shape) < attraction * looked)


def _read(attraction: Floats, rng: np.random.Generator, *, patience: float = 1.0, satisfied: float = 1.0) -> Bools:
    clicks, reading = np.zeros(attraction.shape, bool), np.ones(len(attraction), bool)
    for rank in range(attraction.shape[1]):
        clicks[:, rank] = reading & (rng.random(len(reading)) < attraction[:, rank])
        done = clicks[:, rank] & (rng.random(len(reading)) < satisfied)
        reading &= ~done & (rng.random(len(reading)) < patience)
    return clicks


def estimate_all(shown: Impressions, **options: float) -> dict[str, Attractions]:
    """Return what each estimator says, with propensities that are estimated from the same traffic."""
    looked = estimate_propensities(shown, **options)
    return {
        "ctr": estimate_ctr(shown, **options),
        "coec": estimate_coec(shown, **options),
        "ips": estimate_ips(shown, looked, **options),
        "snips": estimate_ips(shown, looked, self_normalised=True, **options),
        "sdbn": estimate_sdbn(shown, **options),
    }


@dataclass(frozen=True)
class Errors:
    """How wrong an estimator is about all items that it has an estimate of."""

    disordered: float
    """The share of pairs of one query, of a good and a bad item, that it puts in the wrong order."""
    distance: float
    """The mean distance from the truth."""
    over: float
    """The share of items that are worse than the lower end of their interval."""
    under: float
    """The share that are better than the upper end."""


def measure_errors(traffic: Traffic, estimate: Attractions) -> Errors:
    """Compare an estimate with the truth."""
    known, truth = estimate.known, traffic.attraction
    value, actual = (own.reshape(-1, DEPTH) for own in (estimate.value, truth))
    good_over_bad = (actual[:, :, None] >= 0.3) & (actual[:, None, :] < 0.3)
    both = good_over_bad & ~np.isnan(value[:, :, None]) & ~np.isnan(value[:, None, :])
    wrong = both & (value[:, :, None] <= value[:, None, :])
    return Errors(
        disordered=wrong.sum() / max(both.sum(), 1),
        distance=float(np.abs(estimate.value - truth)[known].mean()),
        over=float((estimate.low > truth)[known].mean()),
        under=float((estimate.high < truth)[known].mean()),
    )


def measure_envelope(traffic: Traffic, estimates: dict[str, Attractions]) -> Errors:
    """The same for the interval that holds those of all estimators of a share."""
    shares = [estimate for name, estimate in estimates.items() if name != "coec"]
    low, high = combine_intervals(shares)
    first = shares[0]
    whole = Attractions(estimator="all", value=first.value, low=low, high=high, n=first.n, clicks=first.clicks)
    return measure_errors(traffic, whole)
