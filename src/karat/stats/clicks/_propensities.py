"""How many people look at each rank, from items that were shown at two ranks in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from karat.stats.clicks._impressions import Bools, Floats, Impressions, Ints, freeze

LEAST_CLICKS = 10
"""With fewer clicks at one of two ranks, how many more people look at the one than at the other is not known."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Propensities:
    """The share of people who look at each rank, of those who look at the first; place 0 stands for no rank."""

    value: Floats
    low: Floats
    high: Floats
    clicks: Ints
    """The clicks at the rank and the one before it, on items that were shown at both."""
    reason: str = ""
    """Why lower ranks are not known; empty if all are."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "clicks"):
            freeze(getattr(self, name))

    @property
    def depth(self) -> int:
        """The lowest place that is known."""
        return len(self.value) - 1

    def known_at(self, ranks: Ints) -> Bools:
        """Return which ranks have a propensity."""
        return np.asarray(ranks <= self.depth)

    @classmethod
    def from_values(cls, values: Sequence[float]) -> Propensities:
        """Return propensities that are known exactly, from the first rank down.

        >>> Propensities.from_values([1.0, 0.5]).value.tolist()
        [1.0, 1.0, 0.5]
        """
        own = np.array([1.0, *values], np.float64)
        if not ((own > 0) & (own <= 1)).all():
            raise ValueError("a propensity is a share above 0 and up to 1")
        return cls(value=own, low=own.copy(), high=own.copy(), clicks=np.zeros(len(own), np.int64))


def estimate_propensities(
    shown: Impressions, *, least_clicks: int = LEAST_CLICKS, confidence: float = 0.95
) -> Propensities:
    """Return how many people look at each rank, from items that were shown at neighbouring ranks.

    Where an item stood must not depend on who was asking: ranks that differ because the order was shuffled, neighbours
    were swapped, or the system changed. Each two ranks are compared on the items that were shown at both, item by item,
    and the ratios are multiplied from the first rank down, until there are too few clicks to go on.

    Agarwal et al., Estimating position bias without intrusive interventions, WSDM 2019 (adjacent chain); the ratio and
    its variance are those of Mantel and Haenszel, by Greenland and Robins, Biometrics 41, 1985.

    >>> pages = np.repeat(np.arange(200), 2)
    >>> ranks = np.tile([1, 2], 200)
    >>> items = np.where(pages % 2 == 0, ranks, 3 - ranks) - 1
    >>> clicks = np.where(ranks == 1, pages % 5 < 2, pages % 5 < 1)
    >>> looked = estimate_propensities(Impressions(pages=pages, items=items, ranks=ranks, clicks=clicks))
    >>> looked.value.tolist(), looked.depth
    ([1.0, 1.0, 0.5], 2)
    """
    depth = shown.deepest
    cells, number, clicked = _count_cells(shown)
    item, rank = np.divmod(cells, depth + 2)
    value, spread, clicks, reason = [0.0, 0.0], [0.0, 0.0], [0, 0], ""
    for upper in range(1, depth):
        pairs = _pair(item, rank, upper)
        ratio, variance, least = _compare(number, clicked, *pairs)
        if least < least_clicks:
            reason = (
                f"ranks {upper} and {upper + 1} share items with {least:,} clicks at one of them; {least_clicks} needed"
            )
            break
        value.append(value[-1] + math.log(ratio))
        spread.append(spread[-1] + variance)
        clicks.append(int(clicked[pairs[0]].sum() + clicked[pairs[1]].sum()))
    logs, margin = np.array(value), NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(spread)
    return Propensities(
        value=np.exp(logs),
        low=np.exp(logs - margin),
        high=np.exp(logs + margin),
        clicks=np.array(clicks),
        reason=reason,
    )


def _count_cells(shown: Impressions) -> tuple[Ints, Floats, Floats]:
    """Return every pair of item and rank as one number, in order, with its impressions and clicks."""
    cells, where = np.unique(shown.items * (shown.deepest + 2) + shown.ranks, return_inverse=True)
    number, clicked = (
        np.bincount(where, own, minlength=len(cells)).astype(np.float64) for own in (np.ones(len(shown)), shown.clicks)
    )
    return cells, number, clicked


def _pair(item: Ints, rank: Ints, upper: int) -> tuple[Ints, Ints]:
    """Return the places of the cells of items that were shown at a rank and at the next; a cell is followed by that."""
    first = np.flatnonzero((rank[:-1] == upper) & (rank[1:] == upper + 1) & (item[:-1] == item[1:]))
    return first, first + 1


def _compare(number: Floats, clicked: Floats, first: Ints, second: Ints) -> tuple[float, float, int]:
    """Return the ratio of Mantel and Haenszel, the variance of its logarithm, and the clicks at the rank with fewer."""
    n, m, k, j = number[first], number[second], clicked[first], clicked[second]
    least = int(min(k.sum(), j.sum())) if len(first) else 0
    if not least:
        return math.nan, math.nan, 0
    both = n + m
    over, under = float((j * n / both).sum()), float((k * m / both).sum())
    spread = float(((n * m * (j + k) - j * k * both) / both**2).sum())
    return over / under, spread / (over * under), least
