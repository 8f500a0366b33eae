"""What was measured in some sessions: counts, so that any number of writers add up to one state."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from karat.core import UsageError
from karat.stats.sequential import Tally

_DIFFERENCE, _LATENCY, _UNITS = "difference:", "latency:", "units:"
UNJUDGED = "unjudged"
"""The name, among differences, of the share of results without a judgment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What sessions that are over say. No session may be in two batches, and none is named."""

    differences: Mapping[str, Tally] = field(default_factory=dict)
    """By measure, treatment minus control, one difference for each session; ``"unjudged"`` is the share of results
    without a judgment."""
    latencies: Mapping[str, Mapping[float, int]] = field(default_factory=dict)
    """By variant, how often each latency was measured, in milliseconds."""
    units: Mapping[str, int] = field(default_factory=dict)
    """By variant, how many units were assigned to it."""

    def __post_init__(self) -> None:
        for counts in self.latencies.values():
            for latency, count in counts.items():
                if not 0 <= latency < math.inf or count < 0:
                    raise UsageError(f"a latency of {latency} ms, {count} times, cannot be: both are 0 or more")
        if any(count < 0 for count in self.units.values()):
            raise UsageError("a number of units is negative")

    def series(self, hour: int) -> Iterator[tuple[str, int, float, int]]:
        """Yield all counts as series, hour, value and count. Only differences are kept by hour, for pictures."""
        for measure, tally in self.differences.items():
            for value, count in tally.entries:
                yield name_series(measure), hour, value, count
        for variant, counts in self.latencies.items():
            for value, count in counts.items():
                yield _LATENCY + variant, 0, _round(value), count
        for variant, count in self.units.items():
            yield _UNITS + variant, 0, 0.0, count

    @classmethod
    def from_series(cls, series: Mapping[str, Mapping[float, int]]) -> Observations:
        """Return what was measured, from counts by series."""
        return cls(
            differences={name: Tally.from_counts(counts) for name, counts in _select(series, _DIFFERENCE)},
            latencies=dict(_select(series, _LATENCY)),
            units={name: sum(counts.values()) for name, counts in _select(series, _UNITS)},
        )

    def tally(self, measure: str) -> Tally:
        """Return the differences in a measure."""
        return self.differences.get(measure, Tally())


def name_series(measure: str) -> str:
    """Return the name under which the differences in a measure are counted."""
    return _DIFFERENCE + measure


def find_p95(counts: Mapping[float, int]) -> float | None:
    """Return the latency that 95 % do not exceed; None if there is none.

    >>> find_p95({10: 94, 50: 5, 900: 1}), find_p95({10: 95, 900: 5})
    (50, 10)
    """
    total = Counter(counts).total()
    reached = 0
    for latency in sorted(counts):
        reached += counts[latency]
        if reached and reached * 100 >= total * 95:
            return latency
    return None


def _round(latency: float) -> float:
    """Return a latency with three digits, so that there are few different ones."""
    return float(f"{latency:.3g}")


def _select(series: Mapping[str, Mapping[float, int]], prefix: str) -> list[tuple[str, Mapping[float, int]]]:
    return [(name.removeprefix(prefix), counts) for name, counts in series.items() if name.startswith(prefix)]
