"""What was shown and clicked, as arrays, and what an estimator makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LEAST_IMPRESSIONS = 10
"""With fewer impressions an item has no estimate: it is unjudged."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Impressions:
    """Items that were shown to people, a place in each array for every impression.

    >>> shown = Impressions(pages=[0, 0, 1], items=[0, 1, 0], ranks=[1, 2, 1], clicks=[0, 1, 1])
    >>> len(shown), shown.item_count, shown.clicks.tolist()
    (3, 2, [False, True, True])
    """

    pages: Ints
    """The list that the item was shown in: equal numbers are one list."""
    items: Ints
    """What was shown, such as a pair of query and document: numbers from 0."""
    ranks: Ints
    """From 1."""
    clicks: Bools
    """Whether it was clicked, read or otherwise chosen."""

    def __post_init__(self) -> None:
        for name in ("pages", "items", "ranks"):
            object.__setattr__(self, name, freeze(np.array(getattr(self, name), np.int64)))
        object.__setattr__(self, "clicks", freeze(np.array(self.clicks, np.bool_)))
        shapes = {self.pages.shape, self.items.shape, self.ranks.shape, self.clicks.shape}
        if len(shapes) > 1 or self.items.ndim != 1:
            raise ValueError(f"arrays of shapes {sorted(shapes)}; every impression has a page, item, rank and click")
        if len(self) and (self.items.min() < 0 or self.ranks.min() < 1):
            raise ValueError("an item is below 0, or a rank below 1; items count from 0, and ranks from 1")
        if len(self) and (np.diff(np.sort(self._places())) == 0).any():
            raise ValueError("two items stand at the same rank of one page")

    def __len__(self) -> int:
        return len(self.items)

    @property
    def item_count(self) -> int:
        """How many items there are: one more than the largest number."""
        return int(self.items.max()) + 1 if len(self) else 0

    @property
    def deepest(self) -> int:
        """The lowest place at which anything was shown."""
        return int(self.ranks.max()) if len(self) else 0

    def _places(self) -> Ints:
        """Return a number for each impression that sorts them by page and rank."""
        _, pages = np.unique(self.pages, return_inverse=True)
        places: Ints = pages.astype(np.int64) * (self.deepest + 1) + self.ranks
        return places

    def find_examined(self) -> tuple[Bools, Bools]:
        """Return which impressions stand at or above the last click of their page, and which ones are that click.

        On a page without a click everything counts as examined: nobody was satisfied on the way down.
        """
        _, pages = np.unique(self.pages, return_inverse=True)
        last = np.zeros(int(pages.max()) + 1 if len(self) else 0, np.int64)
        np.maximum.at(last, pages[self.clicks], self.ranks[self.clicks])
        depth = last[pages]
        return (depth == 0) | (self.ranks <= depth), self.clicks & (self.ranks == depth)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attractions:
    """How attractive each item is, by one estimator: a place in each array for every item."""

    estimator: str
    value: Floats
    """NaN if there are too few impressions."""
    low: Floats
    """The lower end of the interval: 0 if there are too few impressions."""
    high: Floats
    """The upper end: 1, or infinite for a ratio, if there are too few impressions."""
    n: Ints
    """The impressions that count."""
    clicks: Ints
    """The clicks that count."""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "n", "clicks"):
            freeze(getattr(self, name))

    @property
    def known(self) -> Bools:
        """Which items have an estimate."""
        return ~np.isnan(self.value)


def freeze(array: Any) -> Any:
    """Return an array that cannot be written to any more: itself."""
    array.flags.writeable = False
    return array
