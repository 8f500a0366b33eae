"""To which session a record belongs."""

from __future__ import annotations

from karat.online._records import LoggedQuery, Record

IDLE_SECONDS = 12 * 3600.0
"""A session without a record for so long has ended; if its id comes again, that is another one."""


def name_session(record: Record) -> str:
    """Return a key of a record's own session; without one a record is alone.

    >>> name_session(LoggedQuery("1", 1.7e9, "wifi", session="a")), name_session(LoggedQuery("1", 1.7e9, "wifi"))
    ('sa', 'q1')
    """
    if record.session:
        return f"s{record.session}"
    return f"q{record.id}" if isinstance(record, LoggedQuery) else f"e{record.id}"
