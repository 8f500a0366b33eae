"""The state of a sequential test: how often each difference occurred. Order does not matter, and states add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum, isfinite

import numpy as np
from numpy.typing import NDArray

from karat.core import UsageError

LOW, HIGH = -1.0, 1.0
"""The bounds of a difference of two scores between 0 and 1."""
_DIGITS = 9
"""Decimals that are kept, so that 1/2 - 1/3 and 1/6 are one entry. What is closer than this is a tie elsewhere, too."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each difference of treatment and control occurred.

    A difference is that of one unit, which is a session: the mean over its queries. Queries of a session are not
    independent, and a test that takes them for independent finds what is not there.

    >>> morning, evening = Tally.of([0.5, 0, 0]), Tally.of([0, -1])
    >>> together = morning + evening
    >>> together.n, together.mean, together == Tally.of([0, -1, 0.5, 0, 0])
    (5, -0.1, True)
    """

    entries: tuple[tuple[float, int], ...] = ()
    """Differences in ascending order, each with its count."""

    @classmethod
    def of(cls, differences: Iterable[float]) -> Tally:
        """Return the tally of differences."""
        return cls.from_counts(Counter(float(difference) for difference in differences))

    @classmethod
    def from_counts(cls, counts: Mapping[float, int]) -> Tally:
        """Return the tally of differences whose counts are known."""
        total: Counter[float] = Counter()
        for difference, count in counts.items():
            total[_check(difference)] += _check_count(count)
        return cls(tuple(sorted((value, count) for value, count in total.items() if count)))

    @classmethod
    def merge(cls, tallies: Iterable[Tally]) -> Tally:
        """Return the sum of tallies, which any number of processes may have kept."""
        total: Counter[float] = Counter()
        for tally in tallies:
            for value, count in tally.entries:
                total[value] += count
        return cls(tuple(sorted(total.items())))

    def __add__(self, other: Tally) -> Tally:
        return Tally.merge((self, other))

    @property
    def n(self) -> int:
        """The number of differences."""
        return sum(count for _, count in self.entries)

    @property
    def mean(self) -> float | None:
        """The mean difference; None if there is none."""
        return fsum(value * count for value, count in self.entries) / self.n if self.entries else None

    @property
    def values(self) -> NDArray[np.float64]:
        """The differences that occurred, in ascending order."""
        return np.array([value for value, _ in self.entries], np.float64)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each of them occurred."""
        return np.array([count for _, count in self.entries], np.int64)


def _check(difference: float) -> float:
    if not isfinite(difference) or not LOW <= difference <= HIGH:
        raise UsageError(
            f"a difference of {difference!r} is not between {LOW:g} and {HIGH:g}: "
            "only differences of scores between 0 and 1 can be tested"
        )
    return round(float(difference), _DIGITS) + 0.0  # there is one zero, without a sign


def _check_count(count: int) -> int:
    if count < 0 or count != int(count):
        raise UsageError(f"a count of {count!r} is not a whole number, 0 or above")
    return int(count)
