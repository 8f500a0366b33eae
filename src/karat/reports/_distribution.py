"""How the scores of the queries spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def spread(values: Sequence[float]) -> tuple[float | None, float | None, float | None, float | None, float | None]:
    """Return sample standard deviation, p50, p95, minimum and maximum; None where there are too few values.

    >>> spread([0.0, 0.5, 1.0])
    (0.5, 0.5, 0.95, 0.0, 1.0)
    >>> spread([])
    (None, None, None, None, None)
    """
    if not values:
        return None, None, None, None, None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return deviation, quantile(values, 0.5), quantile(values, 0.95), min(values), max(values)


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all values lies, interpolated linearly as NumPy does by default."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
