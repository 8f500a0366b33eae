"""What a host says where a number should be, looked at before it is written: a record that nobody can read is dropped.

Only records that take the long way are looked at; the fields of others are made here, or known to be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from karat.core import name_type, unwrap
from karat.online._drafts import EventDraft, QueryDraft
from karat.online._hit_rows import to_channels, to_count, to_float, to_floats, to_hits, to_id
from karat.online._records import TASK_OUTCOME, is_outcome
from karat.online._segment import EVENT

_LISTS = dict.fromkeys(("stages", "weights"), (to_floats, "mapping of numbers"))
_RESULTS = {"hits": (to_hits, "list of hits"), "channels": (to_channels, "mapping of lists of ids"), **_LISTS}


class WrongType(Exception):
    """A field that has something else than what belongs there."""

    def __init__(self, field: str, value: Any, what: str) -> None:
        super().__init__(f"{field!r} is {name_type(value)} that is no {what}")
        self.field = field


class NoOutcome(Exception):
    """A value that cannot say how well a task ended."""


def check_event(draft: EventDraft) -> None:
    """Refuse an event that cannot be read back; numbers that are written in other ways become numbers.

    >>> check_event(EventDraft("1", 1.5, "task_outcome", value="success"))
    Traceback (most recent call last):
    karat.online._types.WrongType: 'value' is a str that is no number
    """
    if type(draft.kind) is not str or not draft.kind:
        draft.kind = _check(EVENT, _to_word, draft.kind, "word")
    if type(draft.time) is not float:
        draft.time = _check("time", _to_time, draft.time)
    if draft.value is not None:
        if type(draft.value) is not float:
            draft.value = float(draft.value) if type(draft.value) is bool else _check("value", to_float, draft.value)
        if draft.kind == TASK_OUTCOME and not (draft.value is not None and is_outcome(draft.value)):
            raise NoOutcome("the value of a task_outcome is a number from 0, failed, to 1")
    if draft.rank is not None:
        draft.rank = _check("rank", to_count, draft.rank)
    for name in ("document", "query"):
        value = getattr(draft, name)
        if value is not None and type(value) is not str:
            _check(name, to_id, value, "id")


def check_query(draft: QueryDraft, *, plain: bool) -> list[tuple[str, WrongType]]:
    """Refuse a query that cannot be read back; leave out what came back if that cannot be, and return these fields.

    ``plain`` says that hits and channels have short ids only.

    >>> draft = QueryDraft("1", 1.5, "wifi", hits=[object()], count=1)
    >>> check_query(draft, plain=False), draft.hits, draft.count
    ([('hits', WrongType("'hits' is a list that is no list of hits"))], (), None)
    """
    if type(draft.time) is not float:
        draft.time = _check("time", _to_time, draft.time)
    for name in ("latency", "quality"):
        value = getattr(draft, name)
        if value is not None and type(value) is not float:
            setattr(draft, name, _check(name, to_float, value))
    if draft.count is not None and type(draft.count) is not int:
        draft.count = _check("count", to_count, draft.count)
    if draft.flags is not None:
        _check("flags", dict, draft.flags, "mapping of variants")
    return list(_leave_out(draft, _LISTS if plain else _RESULTS))


def leave_out_numbers(draft: QueryDraft) -> list[str]:
    """Leave out of a query of the journal the mappings of numbers that hold something else; return their names.

    >>> draft = QueryDraft("1", 1.5, "wifi", stages={"dense": {"ms": 3}}, weights={"dense": 0.5})
    >>> leave_out_numbers(draft), draft.stages, draft.weights
    (['stages'], None, {'dense': 0.5})
    """
    return [name for name, _ in _leave_out(draft, _LISTS)]


def _leave_out(draft: QueryDraft, fields: Mapping[str, tuple[Any, str]]) -> Iterator[tuple[str, WrongType]]:
    """Take out of a draft what cannot be read of some fields, so that nothing is known of it; yield these."""
    for name, (read, what) in fields.items():
        if value := getattr(draft, name):
            try:
                _check(name, read, value, what)
            except WrongType as error:
                setattr(draft, name, () if name == "hits" else None)
                if name == "hits":
                    draft.count = None
                yield name, error


def _check(name: str, read: Any, value: Any, what: str = "number") -> Any:
    """Return what a value is read as. What somebody may have typed is not repeated."""
    try:
        return read(value)
    except Exception:
        raise WrongType(name, value, what) from None


def _to_word(value: Any) -> str:
    """Return the word of an event, which numbers and objects are not: nobody would find the event again."""
    word = unwrap(value)
    if not isinstance(word, str) or not word:
        raise TypeError
    return str.__str__(word)  # the text of a member of an enum, and not its name


def _to_time(value: Any) -> float:
    return float(value)
