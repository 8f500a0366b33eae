"""Times as people read them: in UTC."""

from __future__ import annotations

import time
from datetime import UTC, datetime

DAY = 86_400
_EARLIEST = 1e8  # in the year 1973; what time.monotonic() returns is less, and so are days and minutes since 1970
_LATEST = 1e10  # in the year 2286; milliseconds are more
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0  # of the years 1 and 9999
_ID_DIGITS = 14


def is_plausible(seconds: float) -> bool:
    """Return whether a time is a number of seconds since 1970, and not one of something else.

    >>> is_plausible(1_700_000_000.0), is_plausible(1_700_000_000_000.0), is_plausible(float("nan"))
    (True, False, False)
    >>> is_plausible(86_400.0 * 30)  # of a clock that began when the machine did
    False
    """
    return _EARLIEST <= seconds < _LATEST


def find_time(id: str) -> float:
    """Return when the writer made the id of a record; now, if the id is another's.

    >>> find_time("060a24181e4000-00000000-5f2c")
    1700000000.0
    """
    try:
        seconds = int(id[:_ID_DIGITS], 16) / 1e6
    except ValueError:
        return time.time()
    return seconds if is_plausible(seconds) and id[_ID_DIGITS : _ID_DIGITS + 1] == "-" else time.time()


def format_time(seconds: float) -> str:
    """Return a time in UTC, as in ISO 8601.

    >>> format_time(1_700_000_000.25)
    '2023-11-14T22:13:20.250000Z'
    """
    near = min(max(seconds, _FIRST_SECOND), _LAST_SECOND)  # a store of an earlier version may have any number
    return datetime.fromtimestamp(near, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


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
