"""How far a judge's scores agree with people's labels: ten numbers, each with a bootstrap interval.

Whole queries are drawn, since several answers to one query are alike. A resample is a weight for each item, and every
statistic is a function of weights, so that many resamples are computed at once. There is no linear algebra, so that
results have the same bits on any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.stats.trust._estimate import Estimate

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From weights, a row for each resample, to a value for each."""
BINS = 10
"""Of equal width, for the calibration error."""
_RESAMPLES = 2000
_AT_ONCE = 1 << 20
_MOST_UNDEFINED = 0.1
"""The share of resamples without a value, as those with equal labels, from which on there is no interval."""


def round_to_levels(values: ArrayLike, levels: Sequence[float], threshold: float | None = None) -> NDArray[np.int64]:
    """Return the place of the nearest level of each value, the higher one if two are equally near.

    With two levels ``threshold`` says from where on a value is the higher one.

    >>> round_to_levels([0.1, 0.5, 0.9], [0.0, 1.0]).tolist(), round_to_levels([0.6], [0.0, 1.0], 0.7).tolist()
    ([0, 1, 1], [0])
    """
    steps = np.asarray(levels, np.float64)
    borders = (steps[1:] + steps[:-1]) / 2
    if threshold is not None and len(steps) == 2:
        borders = np.array([threshold])
    return np.searchsorted(borders, np.asarray(values, np.float64), side="right").astype(np.int64)


def measure_agreement(
    judged: ArrayLike,
    labels: ArrayLike,
    *,
    levels: Sequence[float],
    positive: float,
    rng: np.random.Generator,
    threshold: float | None = None,
    groups: Iterable[object] | None = None,
    resamples: int = _RESAMPLES,
    confidence: float = 0.95,
) -> dict[str, Estimate]:
    """Return the agreement of a judge's scores with people's labels, both from 0 to 1, by the name of each statistic.

    ``levels`` are the labels that people can give, in order; scores are rounded to them where grades are compared.
    Labels from ``positive`` on are good, and ``groups`` names the query of each item.
    """
    values, truth = np.asarray(judged, np.float64), np.asarray(labels, np.float64)
    if values.shape != truth.shape or values.ndim != 1 or not len(values):
        raise ValueError(f"{values.shape} scores and {truth.shape} labels; every item has one of each")
    statistics = _list_statistics(values, truth, levels, positive, threshold)
    point = {name: float(compute(np.ones((1, len(values))))[0]) for name, compute in statistics.items()}
    draws: dict[str, list[Floats]] = {name: [] for name in statistics}
    for weights in draw_weights(groups if groups is not None else range(len(values)), len(values), rng, resamples):
        for name, compute in statistics.items():
            draws[name].append(compute(weights))
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    return {name: make_estimate(point[name], np.concatenate(draws[name]), tails) for name in statistics}


def draw_weights(groups: Iterable[object], count: int, rng: np.random.Generator, resamples: int) -> Iterable[Floats]:
    own = list(groups)
    names = {group: place for place, group in enumerate(dict.fromkeys(own))}
    place = np.array([names[group] for group in own])
    rows = max(1, _AT_ONCE // count)
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=size)
        yield drawn[:, place].astype(np.float64)


def make_estimate(value: float, draws: Floats, tails: tuple[float, float]) -> Estimate:
    defined = draws[np.isfinite(draws)]
    if not np.isfinite(value) or len(defined) < (1 - _MOST_UNDEFINED) * len(draws):
        return Estimate(value=value, low=np.nan, high=np.nan)
    low, high = np.quantile(defined, tails).tolist()
    return Estimate(value=value, low=min(low, value), high=max(high, value))


def _list_statistics(
    values: Floats, truth: Floats, levels: Sequence[float], positive: float, threshold: float | None
) -> Mapping[str, Statistic]:
    count = len(levels)
    graded, labelled = round_to_levels(values, levels, threshold), round_to_levels(truth, levels)
    table = partial(_count_pairs, labelled * count + graded, count)
    apart = np.abs(np.arange(count)[:, None] - np.arange(count)[None, :]).astype(np.float64)
    return {
        "agreement": lambda weights: _average(weights, (graded == labelled).astype(np.float64)),
        "within_one": lambda weights: _average(weights, (np.abs(graded - labelled) <= 1).astype(np.float64)),
        "difference": lambda weights: _average(weights, values - truth),
        "kappa": lambda weights: compute_kappa(table(weights), (apart > 0).astype(np.float64)),
        "quadratic_kappa": lambda weights: compute_kappa(table(weights), apart**2),
        "alpha": lambda weights: compute_alpha(table(weights)),
        "pearson": lambda weights: _correlate(weights, values, truth),
        "spearman": lambda weights: _correlate(weights, _rank(weights, values), _rank(weights, truth)),
        "auroc": lambda weights: _auroc(weights, values, truth >= positive),
        "calibration_error": lambda weights: _calibration_error(weights, values, truth),
    }


def _average(weights: Floats, values: Floats) -> Floats:
    return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))


def _sum_groups(weights: Floats, codes: NDArray[np.int64], count: int) -> Floats:
    """Return the sum of the weights of each group, a column for each code from 0 on."""
    totals = np.zeros((len(weights), count))
    order = np.argsort(codes, kind="stable")
    present, starts = np.unique(codes[order], return_index=True)
    totals[:, present] = np.add.reduceat(weights[:, order], starts, axis=1)
    return totals


def _count_pairs(codes: NDArray[np.int64], count: int, weights: Floats) -> Floats:
    return _sum_groups(weights, codes, count * count).reshape(len(weights), count, count)


def divide(above: Floats, below: Floats) -> Floats:
    quotient = np.full(above.shape, np.nan)
    np.divide(above, below, out=quotient, where=below > 1e-12)
    return quotient


def compute_kappa(table: Floats, distance: Floats) -> Floats:
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    expected = rows[:, :, None] * columns[:, None, :] / np.maximum(table.sum(axis=(1, 2)), 1e-300)[:, None, None]
    kappa: Floats = 1 - divide((table * distance).sum(axis=(1, 2)), (expected * distance).sum(axis=(1, 2)))
    return kappa


def compute_alpha(table: Floats) -> Floats:
    """Return Krippendorff's alpha of two raters, ordinal: grades are as far apart as items have grades between them."""
    pairs = table + table.transpose(0, 2, 1)
    totals = pairs.sum(axis=2)
    middle = np.cumsum(totals, axis=1) - totals / 2
    distance = (middle[:, :, None] - middle[:, None, :]) ** 2
    chance = (totals[:, :, None] * totals[:, None, :] * distance).sum(axis=(1, 2)) / (totals.sum(axis=1) - 1)
    alpha: Floats = 1 - divide((pairs * distance).sum(axis=(1, 2)), chance)
    return alpha


def _correlate(weights: Floats, first: Floats, second: Floats) -> Floats:
    """Return Pearson's correlation; ``first`` and ``second`` may have a row for each resample."""
    a = first - _average(weights, first)[:, None]
    b = second - _average(weights, second)[:, None]
    together = (weights * a * b).sum(axis=1)
    spread = (weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1)
    return divide(together, np.sqrt(spread))


def _rank(weights: Floats, values: Floats) -> Floats:
    """Return the rank of each item in each resample; equal values share the middle of their ranks."""
    _, codes = np.unique(values, return_inverse=True)
    totals = _sum_groups(weights, codes, int(codes.max()) + 1)
    middle = np.cumsum(totals, axis=1) - totals / 2
    return np.asarray(middle[:, codes])


def _auroc(weights: Floats, values: Floats, good: NDArray[np.bool_]) -> Floats:
    """Return how often a good item has a higher score than a bad one; equal scores count half."""
    _, codes = np.unique(values, return_inverse=True)
    count = int(codes.max()) + 1
    above, below = (_sum_groups(weights * own, codes, count) for own in (good, ~good))
    lower = np.cumsum(below, axis=1) - below / 2
    return divide((above * lower).sum(axis=1), above.sum(axis=1) * below.sum(axis=1))


def _calibration_error(weights: Floats, values: Floats, truth: Floats) -> Floats:
    """Return the mean distance of scores and labels, over bins of scores (Guo et al., 2017)."""
    codes = np.minimum((values * BINS).astype(np.int64), BINS - 1)
    gaps = _sum_groups(weights * (values - truth), codes, BINS)
    return np.asarray(np.abs(gaps).sum(axis=1) / weights.sum(axis=1))
