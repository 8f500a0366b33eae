"""What a host says where a number should be, looked at before it is written: a record that nobody can read is dropped.

Only records that take the long way are looked at; the fields of others are made here, or known to be right.
"""

from __future__ import annotations

from typing import Any

from karat.online._drafts import EventDraft, QueryDraft
from karat.online._hit_rows import to_channels, to_count, to_float, to_floats, to_hits, to_text
from karat.online._records import TASK_OUTCOME, is_outcome


class WrongType(Exception):
    """A field that has something else than what belongs there."""


class NoOutcome(Exception):
    """A value that cannot say how well a task ended."""


def check_event(draft: EventDraft) -> None:
    """Refuse an event that cannot be read back; numbers that are written in other ways become numbers.

    >>> check_event(EventDraft("1", 1.5, "task_outcome", value="success"))
    Traceback (most recent call last):
    karat.online._types.WrongType: 'value' is a str that is no number
    """
    if type(draft.time) is not float:
        draft.time = _check("time", _to_time, draft.time)
    if draft.value is not None:
        if type(draft.value) is not float:
            draft.value = float(draft.value) if type(draft.value) is bool else _check("value", to_float, draft.value)
        if to_text(draft.kind) == TASK_OUTCOME and not (draft.value is not None and is_outcome(draft.value)):
            raise NoOutcome("the value of a task_outcome is a number from 0, failed, to 1")
    if draft.rank is not None:
        _check("rank", to_count, draft.rank)


def check_query(draft: QueryDraft, *, plain: bool) -> None:
    """Refuse a query that cannot be read back. ``plain`` says that hits and channels have short ids only.

    >>> check_query(QueryDraft("1", 1.5, "wifi", hits={"weird": object()}), plain=False)
    Traceback (most recent call last):
    karat.online._types.WrongType: 'hits' is a dict that is no list of hits
    """
    if type(draft.time) is not float:
        draft.time = _check("time", _to_time, draft.time)
    for name in ("latency", "quality"):
        value = getattr(draft, name)
        if value is not None and type(value) is not float:
            _check(name, to_float, value)
    if draft.count is not None and type(draft.count) is not int:
        _check("count", to_count, draft.count)
    for name in ("stages", "weights"):
        if getattr(draft, name):
            _check(name, to_floats, getattr(draft, name), "mapping of numbers")
    if draft.hits and not (plain and _have_scores(draft.hits)):
        _check("hits", to_hits, draft.hits, "list of hits")
    if draft.channels and not plain:
        _check("channels", to_channels, draft.channels, "mapping of lists of ids")


def _have_scores(hits: Any) -> bool:
    """Return whether hits are ids, or pairs of one and a number."""
    return all(type(hit) is str or (len(hit) == 2 and type(hit[1]) is float) for hit in hits)


def _check(name: str, read: Any, value: Any, what: str = "number") -> Any:
    """Return what a value is read as. What somebody may have typed is not repeated."""
    try:
        return read(value)
    except Exception:
        raise WrongType(f"{name!r} is a {type(value).__name__} that is no {what}") from None


def _to_time(value: Any) -> float:
    return float(value)
