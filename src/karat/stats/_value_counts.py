"""How often each value occurs: quantiles of parts that add up to those of the whole, in a bounded amount of memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUES = 65_536
"""So many different values are told apart; if there are more, all lose as many binary digits as needed."""
_DIGITS = 52  # of a float after its first, in base 2
_BATCH = 16_384


class ValueCounts:
    """How often each of many numbers occurs, independent of their order and of how they were divided into parts.

    Up to ``most`` different values quantiles are exact. If there are more, the last binary digits of all values are
    dropped, as few as needed, and a quantile is the middle of what is left: with 65,536 values between a millisecond
    and an hour that is an error below one in 4,000. How many digits go depends on all values together, and not on
    which came first.

    >>> counts, part = ValueCounts(), ValueCounts()
    >>> counts.add(4.0)
    >>> part.extend([1.0, 2.0])
    >>> counts.merge(part)
    >>> len(counts), counts.quantiles([0.5, 0.75]), counts.median()
    (3, [2.0, 3.0], 2.0)
    """

    __slots__ = ("_counts", "_dropped", "_most", "_new", "_values")

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._dropped = 0
        self._values: NDArray[np.float64] = np.zeros(0)  # sorted, each once
        self._counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self._new: list[float] = []

    def add(self, value: float) -> None:
        """Count a value."""
        self._new.append(value)
        if len(self._new) >= _BATCH:
            self._settle()

    def extend(self, values: Iterable[float]) -> None:
        """Count some values."""
        for value in values:
            self.add(value)

    def add_all(self, values: NDArray[np.float64]) -> None:
        """Count the values of an array."""
        self._combine(*np.unique(values, return_counts=True))

    def merge(self, other: ValueCounts) -> None:
        """Count all that another one has counted."""
        self._settle()
        other._settle()
        self._dropped = max(self._dropped, other._dropped)
        self._combine(other._values, other._counts)

    def __len__(self) -> int:
        return int(self._counts.sum()) + len(self._new)

    @property
    def digits(self) -> int:
        """How many binary digits of each value are known, of 53."""
        self._settle()
        return _DIGITS + 1 - self._dropped

    @property
    def held(self) -> int:
        """How many different values are held."""
        self._settle()
        return len(self._values)

    def quantiles(self, shares: Iterable[float]) -> list[float]:
        """Return quantiles, between two values by the line through them, as ``numpy.quantile`` does; NaN of nothing."""
        self._settle()
        return [self._find_quantile(share) for share in shares]

    def median(self) -> float:
        """Return the median: the mean of the two values in the middle, as ``numpy.median`` does; NaN of nothing."""
        n = len(self)
        return (self._at((n - 1) // 2) + self._at(n // 2)) / 2 if n else math.nan

    def to_plain(self) -> list[Any]:
        """Return the counts as plain values, from which :meth:`from_plain` makes them again."""
        self._settle()
        return [self._most, self._dropped, self._values.tolist(), self._counts.tolist()]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> ValueCounts:
        """Return the counts that :meth:`to_plain` wrote."""
        own = cls(plain[0])
        own._dropped = plain[1]
        own._values, own._counts = np.array(plain[2], np.float64), np.array(plain[3], np.int64)
        return own

    def _find_quantile(self, share: float) -> float:
        n = len(self)
        if not n:
            return math.nan
        place = share * (n - 1)
        low, high = self._at(math.floor(place)), self._at(min(math.floor(place) + 1, n - 1))
        if low == high:
            return low
        part = place - math.floor(place)
        return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part

    def _at(self, place: int) -> float:
        """Return the value at a place, from 0, of all values in their order."""
        self._settle()
        value = float(self._values[np.searchsorted(np.cumsum(self._counts), place, side="right")])
        if not self._dropped or not value or not math.isfinite(value):
            return value
        return float((np.float64(value).view(np.int64) | (1 << (self._dropped - 1))).view(np.float64))

    def _settle(self) -> None:
        if self._new:
            values, counts = np.unique(np.array(self._new, np.float64), return_counts=True)
            self._new.clear()
            self._combine(values, counts)

    def _combine(self, values: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
        """Add values with their counts, and drop digits until few enough are left."""
        own, number = np.concatenate([self._values, values]), np.concatenate([self._counts, counts])
        while True:
            rounded = (own.view(np.int64) & (-1 << self._dropped)).view(np.float64)
            self._values, where = np.unique(rounded, return_inverse=True)
            if len(self._values) <= self._most or self._dropped == _DIGITS:
                break
            self._dropped += 1
        self._counts = np.zeros(len(self._values), np.int64)
        np.add.at(self._counts, where, number)
