"""How many people look at each rank, from items that were shown at two ranks in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from karat.stats.clicks._cells import Cells, ClickTotals
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
    shown: Impressions | Cells | ClickTotals, *, least_clicks: int = LEAST_CLICKS, confidence: float = 0.95
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
    totals = find_totals(shown)
    value, spread, clicks, reason = [0.0, 0.0], [0.0, 0.0], [0, 0], ""
    for upper in range(1, totals.deepest):
        pair = totals.pairs[upper]
        if (least := min(pair.upper_clicks, pair.lower_clicks)) < max(least_clicks, 1):
            reason = (
                f"ranks {upper} and {upper + 1} share items with {least:,} clicks at one of them; {least_clicks} needed"
            )
            break
        over, under = pair.over.value, pair.under.value
        value.append(value[-1] + math.log(over / under))
        spread.append(spread[-1] + pair.spread.value / (over * under))
        clicks.append(pair.upper_clicks + pair.lower_clicks)
    logs, margin = np.array(value), NormalDist().inv_cdf((1 + confidence) / 2) * np.sqrt(spread)
    return Propensities(
        value=np.exp(logs),
        low=np.exp(logs - margin),
        high=np.exp(logs + margin),
        clicks=np.array(clicks),
        reason=reason,
    )


def find_totals(shown: Impressions | Cells | ClickTotals) -> ClickTotals:
    """Return the totals of impressions or cells; those that are given as they are."""
    if isinstance(shown, ClickTotals):
        return shown
    return ClickTotals.of(Cells.count(shown) if isinstance(shown, Impressions) else shown)
