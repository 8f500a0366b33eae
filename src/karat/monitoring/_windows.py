"""Windows: spans of time with enough queries to say something, which depend on the log alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

DAY = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A span of time, from ``start`` up to ``end``, in seconds since 1970."""

    start: float
    end: float
    samples: int
    """The queries in it."""
    state: Literal["complete", "thin", "open"]
    """thin: the day ended before it had enough queries; open: it is not over."""

    @property
    def minutes(self) -> float:
        """How long it is."""
        return (self.end - self.start) / 60


def partition(cells: Mapping[int, int], *, seconds: int, samples: int, until: float) -> tuple[Window, ...]:
    """Return the windows of queries that are counted by cells of ``seconds``, in the order of time.

    A window begins with the cell of its first query and ends with the cell in which it has enough samples, so that it
    has at least ``samples`` queries and at least ``seconds``, whichever is more. A day in UTC begins a new one, so that
    windows depend on the queries of their own day alone: those of another day may come late, or expire. Every query is
    in exactly one window. ``until`` is when all records are there: what ends later is still open.

    >>> windows = partition({0: 150, 1: 100, 5: 300, 7: 1}, seconds=300, samples=200, until=2000)
    >>> [(window.start, window.end, window.samples, window.state) for window in windows]
    [(0, 600, 250, 'complete'), (1500, 1800, 300, 'complete'), (2100, 2400, 1, 'open')]
    """
    return tuple(_cut(sorted(cells.items()), seconds, samples, until))


def _cut(cells: Iterable[tuple[int, int]], seconds: int, samples: int, until: float) -> Iterator[Window]:
    first = last = count = 0
    for cell, number in cells:
        if count and cell * seconds // DAY != first * seconds // DAY:
            yield _end_day(first, last, count, seconds, until)
            count = 0
        if not count:
            first = cell
        last, count = cell, count + number
        if count >= samples:
            end = (cell + 1) * seconds
            state: Literal["complete", "open"] = "complete" if end <= until else "open"
            yield Window(start=first * seconds, end=end, samples=count, state=state)
            count = 0
    if count:
        yield _end_day(first, last, count, seconds, until)


def _end_day(first: int, last: int, count: int, seconds: int, until: float) -> Window:
    """Return a window with too few samples: its day is over, or it is still open."""
    over = (first * seconds // DAY + 1) * DAY <= until
    return Window(start=first * seconds, end=(last + 1) * seconds, samples=count, state="thin" if over else "open")


def count_cells(times: Iterable[float], seconds: int) -> Counter[int]:
    """Return how many times each cell of so many seconds since 1970 has.

    >>> dict(count_cells([0.5, 299.9, 300.0], 300))
    {0: 2, 1: 1}
    """
    return Counter(int(time // seconds) for time in times)
