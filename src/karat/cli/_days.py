"""Spans of time on the command line: a day in UTC, or so many days before now."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from time import time

_BEFORE = re.compile(r"(\d{1,5})d")
_DAY_SECONDS = 86400


def parse_day(text: str | None, option: str) -> float | None:
    """Return the beginning of a day such as 2026-11-01 in seconds since 1970, UTC, or the time so many days ago (7d).

    >>> parse_day("1970-01-02", "--since"), parse_day(None, "--since")
    (86400.0, None)
    """
    from karat.core import UsageError

    if text is None:
        return None
    if before := _BEFORE.fullmatch(text):
        return time() - int(before[1]) * _DAY_SECONDS
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is not a day such as 2026-11-01, nor a number of days such as 7d"
        ) from None
