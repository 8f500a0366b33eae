"""A trial over time: what was known of its deciding measure after each hour."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from karat.online._times import format_time
from karat.schema.trials import TrialPoint
from karat.stats.sequential import StoppingRule, Tally, assess

_MOST = 200
"""A picture has no room for more points."""


def trace_trial(
    rows: Iterable[tuple[int, float, int]], rule: StoppingRule, now: float = math.inf
) -> tuple[TrialPoint, ...]:
    """Return what was known after each hour, from rows of hour, value and count in the order of hours.

    An hour that is not over at ``now`` ends then: a report does not speak of times to come.

    >>> points = trace_trial([(0, 0.5, 8), (0, 0.0, 90), (5, -0.5, 2)], StoppingRule())
    >>> [(point.time[:13], point.n, round(point.log_better, 4)) for point in points]
    [('1970-01-01T01', 98, 2.0777), ('1970-01-01T06', 100, 1.2071)]
    """
    tallies: list[tuple[int, Tally]] = []
    known = Tally()
    for hour, own in groupby(rows, key=lambda row: row[0]):
        known += Tally.from_counts({value: count for _, value, count in own})
        tallies.append((hour, known))
    step = -(-len(tallies) // _MOST) or 1
    kept = tallies[::-1][::step][::-1]  # with the last one
    return tuple(_assess(_find_end(hour, now), tally, rule) for hour, tally in kept)


def _find_end(hour: int, now: float) -> float:
    """Return when an hour ended; if it lies in the future, because a clock was set back, when it began."""
    return min((hour + 1) * 3600.0, max(now, hour * 3600.0))


def _assess(end: float, tally: Tally, rule: StoppingRule) -> TrialPoint:
    look = assess(tally, rule)
    return TrialPoint(
        time=format_time(end),
        n=look.n,
        mean=look.mean or 0.0,
        low=look.low,
        high=look.high,
        log_better=look.log_better,
        log_worse=look.log_worse,
        log_below_effect=look.log_below_effect,
    )
