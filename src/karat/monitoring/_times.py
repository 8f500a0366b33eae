"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from karat.core import UsageError


def format_time(seconds: float) -> str:
    """Return a time in UTC, to the second.

    >>> format_time(1_700_000_000.25)
    '2023-11-14T22:13:20Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float:
    """Return the seconds since 1970 of a time such as 2026-11-18T01:30:00Z; one without a zone is in UTC.

    >>> parse_time("1970-01-01T00:01:00Z"), parse_time("1970-01-01 00:01")
    (60.0, 60.0)
    """
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is not a time such as 2026-11-18T01:30:00Z") from None
