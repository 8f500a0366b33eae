"""Impressions counted by item and rank, and what all items together say: both add up over parts, in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from karat.core import ExactSum
from karat.stats.clicks._impressions import Floats, Impressions, Ints, freeze


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """How often each item was shown and clicked at each rank: a place in each array for every pair, in their order.

    Estimators need no more of what happened to an item than this.

    >>> shown = Impressions(pages=[0, 0, 1], items=[0, 1, 0], ranks=[1, 2, 1], clicks=[0, 1, 1])
    >>> cells = Cells.count(shown)
    >>> cells.items.tolist(), cells.ranks.tolist(), cells.shown.tolist(), cells.clicks.tolist()
    ([0, 1], [1, 2], [2, 1], [1, 1])
    """

    items: Ints
    ranks: Ints
    shown: Ints
    clicks: Ints
    examined: Ints
    """Impressions at or above the last click of their page, or on a page without a click."""
    last: Ints
    """Clicks that were the last of their page."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, freeze(np.array(getattr(self, name), np.int64)))
        order = np.lexsort((self.ranks, self.items))
        if (np.diff(order) != 1).any():
            for name in self.__slots__:
                object.__setattr__(self, name, freeze(getattr(self, name)[order]))

    @classmethod
    def count(cls, shown: Impressions) -> Cells:
        """Return the counts of impressions."""
        examined, last = shown.find_examined()
        depth = shown.deepest + 2
        cells, where = np.unique(shown.items * depth + shown.ranks, return_inverse=True)
        items, ranks = np.divmod(cells, depth)
        parts = (np.ones(len(shown), np.bool_), shown.clicks, examined, last)
        number, clicks, seen, ended = (np.bincount(where[part], minlength=len(cells)) for part in parts)
        return cls(items=items, ranks=ranks, shown=number, clicks=clicks, examined=seen, last=ended)

    @property
    def item_count(self) -> int:
        """How many items there are: one more than the largest number."""
        return int(self.items[-1]) + 1 if len(self.items) else 0

    @property
    def deepest(self) -> int:
        """The lowest place at which anything was shown."""
        return int(self.ranks.max()) if len(self.ranks) else 0

    def sum_by_item(self, values: Ints | Floats) -> Floats:
        """Return the sum of some values for each item, added in the order of ranks."""
        return np.bincount(self.items, values, minlength=self.item_count).astype(np.float64)

    def count_by_item(self, counts: Ints) -> Ints:
        """Return the sum of some counts for each item."""
        return self.sum_by_item(counts).astype(np.int64)


@dataclass(slots=True)
class RankPair:
    """What items that were shown at a rank and at the next say of how many people look at each."""

    over: ExactSum = field(default_factory=ExactSum)
    under: ExactSum = field(default_factory=ExactSum)
    spread: ExactSum = field(default_factory=ExactSum)
    upper_clicks: int = 0
    lower_clicks: int = 0

    def merge(self, other: RankPair) -> None:
        """Add what other items say."""
        for name in ("over", "under", "spread"):
            getattr(self, name).merge(getattr(other, name))
        self.upper_clicks += other.upper_clicks
        self.lower_clicks += other.lower_clicks


@dataclass(slots=True)
class ClickTotals:
    """What an estimate for one item has to know of all items.

    >>> cells = Cells.count(Impressions(pages=[0, 0], items=[0, 1], ranks=[1, 2], clicks=[0, 1]))
    >>> totals = ClickTotals.of(cells)
    >>> totals.merge(ClickTotals.of(cells))
    >>> totals.shown, totals.clicks, totals.examined
    ([0, 2, 2], [0, 0, 2], 4)
    """

    shown: list[int] = field(default_factory=list)
    """Impressions by rank; place 0 stands for no rank."""
    clicks: list[int] = field(default_factory=list)
    examined: int = 0
    last: int = 0
    pairs: list[RankPair] = field(default_factory=list)
    """By the upper of two ranks, from 1; place 0 stands for no rank."""

    @classmethod
    def of(cls, cells: Cells) -> ClickTotals:
        """Return the totals of some items: all ranks of an item are in ``cells``, or none."""
        depth = cells.deepest
        by_rank = (np.bincount(cells.ranks, own, minlength=depth + 1) for own in (cells.shown, cells.clicks))
        shown, clicks = (own.astype(np.int64).tolist() if depth else [] for own in by_rank)
        pairs = [RankPair() for _ in range(depth)]
        items, ranks = cells.items, cells.ranks
        first = np.flatnonzero((items[:-1] == items[1:]) & (ranks[:-1] + 1 == ranks[1:]))
        for upper in np.unique(ranks[first]).tolist():
            pairs[upper] = _compare(cells, first[ranks[first] == upper])
        return cls(shown, clicks, int(cells.examined.sum()), int(cells.last.sum()), pairs)

    def merge(self, other: ClickTotals) -> None:
        """Add the totals of other items."""
        for mine, theirs in ((self.shown, other.shown), (self.clicks, other.clicks)):
            mine.extend([0] * (len(theirs) - len(mine)))
            for rank, count in enumerate(theirs):
                mine[rank] += count
        self.pairs.extend(RankPair() for _ in range(len(other.pairs) - len(self.pairs)))
        for own, pair in zip(self.pairs, other.pairs, strict=False):
            own.merge(pair)
        self.examined += other.examined
        self.last += other.last

    @property
    def deepest(self) -> int:
        """The lowest place at which anything was shown."""
        return max(len(self.shown) - 1, 0)

    def to_plain(self) -> list[Any]:
        """Return the totals as plain values, from which :meth:`from_plain` makes them again."""
        pairs = [
            [pair.over.to_plain(), pair.under.to_plain(), pair.spread.to_plain(), pair.upper_clicks, pair.lower_clicks]
            for pair in self.pairs
        ]
        return [self.shown, self.clicks, self.examined, self.last, pairs]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> ClickTotals:
        """Return the totals that :meth:`to_plain` wrote."""
        shown, clicks, examined, last, rows = plain
        pairs = []
        for over, under, spread, upper, lower in rows:
            first, second, third = (ExactSum.from_plain(own) for own in (over, under, spread))
            pairs.append(RankPair(first, second, third, upper, lower))
        return cls(shown, clicks, examined, last, pairs)


def _compare(cells: Cells, first: Ints) -> RankPair:
    """Return what the items say whose cells at a rank, and just behind them at the next, are given."""
    n, m, k, j = (
        own.astype(np.float64)
        for own in (cells.shown[first], cells.shown[first + 1], cells.clicks[first], cells.clicks[first + 1])
    )
    both = n + m
    pair = RankPair(upper_clicks=int(k.sum()), lower_clicks=int(j.sum()))
    pair.over.add_all(j * n / both)
    pair.under.add_all(k * m / both)
    pair.spread.add_all((n * m * (j + k) - j * k * both) / both**2)
    return pair
