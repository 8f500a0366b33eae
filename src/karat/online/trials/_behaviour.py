"""Measures of what people did in a session: of each the names, and what they mean. All are from 0 to 1, 1 is best."""

from __future__ import annotations

import re

CLICK_RR = "ClickRR"
"""1 / the rank of the first document that was read, 0 if none was; the mean over the session's queries."""
SUCCESS = "Success"
"""How well the task ended, if that was recorded. Otherwise 1 if something that the last query found was used and not
called useless, else 0."""
FOUND = "Found"
"""The share of queries that found something, without an error."""
ASKED_ONCE = "AskedOnce"
"""The share of queries that were not asked again, in the same or similar words."""
IN_TIME = "InTime@"
"""``InTime@500`` is the share of queries that were answered within 500 ms."""
BEHAVIOUR = (CLICK_RR, SUCCESS, FOUND, ASKED_ONCE)
_IN_TIME = re.compile(r"InTime@([1-9]\d{0,8})", re.ASCII)


def is_behavioural(measure: str) -> bool:
    """Return whether a measure is about what people did, and needs no judgments.

    >>> is_behavioural("Success"), is_behavioural("InTime@500"), is_behavioural("RR@10")
    (True, True, False)
    """
    return measure in BEHAVIOUR or find_limit(measure) is not None


def find_limit(measure: str) -> float | None:
    """Return the milliseconds of ``InTime@``; None for another measure."""
    match = _IN_TIME.fullmatch(measure)
    return float(match[1]) if match else None
