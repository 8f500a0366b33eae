"""How far people agree with each other on the same items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from karat.stats._agreement import cohen_kappa, krippendorff_alpha
from karat.stats.trust._estimate import Estimate

Floats = NDArray[np.float64]
_RESAMPLES = 400
_MOST_UNDEFINED = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement:
    """The agreement of people: what a judge can hope for."""

    people: int
    items: int
    """Items that at least two of them labelled."""
    kappa: Estimate
    """The mean over all two of them who share items."""
    quadratic_kappa: Estimate
    alpha: Estimate


def measure_people(
    ratings: ArrayLike, *, rng: np.random.Generator, resamples: int = _RESAMPLES, confidence: float = 0.95
) -> PeopleAgreement | None:
    """Return how far people agree; None if no item has two labels.

    ``ratings`` has a row for each person and a column for each item, with NaN where somebody gave no label. Intervals
    are from resamples of the items.

    >>> agreement = measure_people([[0, 1, 1, 0], [0, 1, 0, 0]], rng=np.random.default_rng(0))
    >>> agreement.kappa.value
    0.5
    """
    table = np.asarray(ratings, np.float64)
    table = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    if not table.shape[1]:
        return None
    tables = [table[:, rng.integers(0, table.shape[1], table.shape[1])] for _ in range(resamples)]
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)

    def estimate(compute: Callable[[Floats], float]) -> Estimate:
        value, draws = compute(table), np.array([compute(own) for own in tables])
        draws = draws[np.isfinite(draws)]
        if not np.isfinite(value) or len(draws) < (1 - _MOST_UNDEFINED) * resamples:
            return Estimate(value=value, low=np.nan, high=np.nan)
        low, high = np.quantile(draws, tails).tolist()
        return Estimate(value=value, low=low, high=high)

    return PeopleAgreement(
        people=len(table),
        items=table.shape[1],
        kappa=estimate(lambda own: _average_kappa(own, "none")),
        quadratic_kappa=estimate(lambda own: _average_kappa(own, "quadratic")),
        alpha=estimate(lambda own: krippendorff_alpha(own, level="ordinal")),
    )


def _average_kappa(table: Floats, weights: Literal["none", "quadratic"]) -> float:
    kappas = []
    for first, second in combinations(table, 2):
        both = ~np.isnan(first) & ~np.isnan(second)
        if both.any():
            kappas.append(cohen_kappa(first[both], second[both], weights=weights))
    defined = [kappa for kappa in kappas if np.isfinite(kappa)]
    return float(np.mean(defined)) if defined else float("nan")
