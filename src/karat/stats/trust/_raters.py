"""How far people agree with each other, with intervals from resampled queries.

Every statistic is a function of small tables of counts, which are sums over queries. A resample is a weight for each
query, so that its tables are weighted sums, and it costs the same for a hundred items as for a million.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.stats.trust._agreement import compute_alpha, compute_kappa, divide, draw_weights, make_estimate
from karat.stats.trust._estimate import Estimate

Floats = NDArray[np.float64]
_RESAMPLES = 1000
_FEWEST, _MOST = 200, 20_000_000
"""Resamples of very many queries are fewer, down to the first number: their weights are held at once."""
LEAST_GROUPS = 5
"""With fewer queries there is no interval: resamples of so few are too much alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """The agreement of several people on items that at least two of them graded."""

    items: int
    same: float
    """The share of items on which all gave the same grade."""
    alpha: Estimate
    """Krippendorff's alpha, ordinal."""
    fleiss: Estimate
    """Fleiss' kappa."""
    kappa: dict[tuple[int, int], tuple[Estimate, int, float]]
    """For each two people who share items: Cohen's kappa with quadratic weights, how many items, and on what share of
    them both gave the same grade."""
    against_others: tuple[Estimate, ...]
    """For each person: the kappa of that person with all others, whose tables are added."""


def measure_raters(
    ratings: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = _RESAMPLES,
    confidence: float = 0.95,
) -> RaterAgreement | None:
    """Return how far people agree; None if no item has two grades.

    ``ratings`` has a row for each person and a column for each item, with NaN where somebody gave no grade, and
    ``groups`` names the query of each item. Whole queries are drawn, since the items of one are alike. Where people
    graded an item more often than two, Fleiss' kappa counts each item once (Fleiss, Psychological Bulletin 76, 1971).

    >>> table = [[0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 0]]
    >>> agreement = measure_raters(table, rng=np.random.default_rng(0))
    >>> agreement.items, round(agreement.kappa[0, 1][0].value, 4), round(agreement.fleiss.value, 4)
    (6, 0.6667, 0.6571)
    """
    table = np.asarray(ratings, np.float64)
    shared = (~np.isnan(table)).sum(axis=0) > 1
    if not shared.any():
        return None
    chosen = np.flatnonzero(shared).tolist()
    names = chosen if groups is None else [groups[i] for i in chosen]
    table = table[:, shared]
    grades, codes = np.unique(table[~np.isnan(table)], return_inverse=True)
    coded = np.full(table.shape, -1, np.int64)
    coded[~np.isnan(table)] = codes
    place = {name: i for i, name in enumerate(dict.fromkeys(names))}
    sums = _Sums(np.array([place[name] for name in names]), len(place), coded, len(grades))
    resamples = min(resamples, max(_FEWEST, _MOST // len(place)))
    weights = np.concatenate(list(draw_weights(range(len(place)), len(place), rng, resamples)))
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)

    def estimate(compute: Callable[[Floats], Floats], own: Floats) -> Estimate:
        value = float(compute(own.sum(axis=0, keepdims=True))[0])
        if len(own) < LEAST_GROUPS:
            return Estimate(value=value, low=np.nan, high=np.nan)
        return make_estimate(value, compute(np.einsum("rq,qk->rk", weights, own)), tails)

    kappa = _square(lambda own: compute_kappa(own, _distance(grades)), len(grades))
    pairs = {two: sums.confuse(*two) for two in combinations(range(len(table)), 2)}
    return RaterAgreement(
        items=table.shape[1],
        same=float((sums.counts.max(axis=1) == sums.counts.sum(axis=1)).mean()),
        alpha=estimate(_square(lambda own: compute_alpha(own / 2), len(grades)), sums.coincide()),
        fleiss=estimate(_fleiss, sums.fleiss()),
        kappa={
            two: (estimate(kappa, own), int(own.sum()), _share_equal(own, len(grades)))
            for two, own in pairs.items()
            if own.any()
        },
        against_others=tuple(estimate(kappa, _add_up(i, pairs, sums)) for i in range(len(table))),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Tables of counts, added up by query."""

    group: NDArray[np.int64]
    groups: int
    codes: NDArray[np.int64]
    """The place of each grade, by person and item; -1 where there is none."""
    grades: int

    @property
    def counts(self) -> Floats:
        """How many people gave each grade to each item."""
        counts = np.zeros((self.codes.shape[1], self.grades))
        for row in self.codes:
            rated = row >= 0
            counts[rated, row[rated]] += 1
        return counts

    def confuse(self, first: int, second: int) -> Floats:
        """Return the table of the grades of two people, a row for each query."""
        a, b = self.codes[first], self.codes[second]
        both = (a >= 0) & (b >= 0)
        cells = self.grades**2
        places = self.group[both] * cells + a[both] * self.grades + b[both]
        return np.bincount(places, minlength=self.groups * cells).reshape(self.groups, cells).astype(np.float64)

    def coincide(self) -> Floats:
        """Return the pairs of grades of different people, weighted so that an item counts once per grade."""
        counts = self.counts
        pairs = counts[:, :, None] * counts[:, None, :]
        diagonal = np.arange(self.grades)
        pairs[:, diagonal, diagonal] -= counts
        pairs /= (counts.sum(axis=1) - 1)[:, None, None]
        return self._add(pairs.reshape(len(counts), -1))

    def fleiss(self) -> Floats:
        """Return the sum of the agreement of each item, the number of items, and the number of each grade."""
        counts = self.counts
        raters = counts.sum(axis=1)
        agreed = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
        return self._add(np.column_stack([agreed, np.ones(len(counts)), counts]))

    def _add(self, values: Floats) -> Floats:
        totals = np.zeros((self.groups, values.shape[1]))
        np.add.at(totals, self.group, values)
        return totals


def _square(compute: Callable[[Floats], Floats], size: int) -> Callable[[Floats], Floats]:
    return lambda own: compute(own.reshape(len(own), size, size))


def _distance(grades: Floats) -> Floats:
    squared: Floats = (grades[:, None] - grades[None, :]) ** 2
    return squared


def _fleiss(sums: Floats) -> Floats:
    observed = divide(sums[:, 0], sums[:, 1])
    totals = sums[:, 2:]
    expected = ((totals / np.maximum(totals.sum(axis=1), 1)[:, None]) ** 2).sum(axis=1)
    return divide(observed - expected, 1 - expected)


def _share_equal(own: Floats, grades: int) -> float:
    table = own.sum(axis=0).reshape(grades, grades)
    return float(np.trace(table) / table.sum())


def _add_up(person: int, pairs: dict[tuple[int, int], Floats], sums: _Sums) -> Floats:
    """Return the tables of a person with all others, that person's grades in rows."""
    total = np.zeros((sums.groups, sums.grades**2))
    for (first, second), own in pairs.items():
        if person == first:
            total += own
        elif person == second:
            total += own.reshape(-1, sums.grades, sums.grades).transpose(0, 2, 1).reshape(own.shape)
    return total
