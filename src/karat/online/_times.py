"""Times as people read them: in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

DAY = 86_400


def format_time(seconds: float) -> str:
    """Return a time in UTC, as in ISO 8601.

    >>> format_time(1_700_000_000.25)
    '2023-11-14T22:13:20.250000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def format_day(seconds: float) -> str:
    """Return the day of a time in UTC.

    >>> format_day(1_700_000_000)
    '2023-11-14'
    """
    return format_time(seconds)[:10]


def start_of_day(seconds: float) -> float:
    """Return the time at which the day of a time began in UTC.

    >>> start_of_day(90_000)
    86400.0
    """
    return float(seconds // DAY * DAY)
