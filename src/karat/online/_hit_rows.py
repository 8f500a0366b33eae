"""Whatever a search returns, as the hits of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any
from uuid import UUID

from msgspec import convert

from karat.core import Hit, document_of, name_type, unwrap
from karat.online._records import LoggedHit

_TEXT, _FLOATS = frozenset((str,)), frozenset((float,))
LONGEST_ID = 256
"""Letters of an id of a document; what is longer is a text."""
_SHORT = frozenset(range(LONGEST_ID + 1))
_CHUNK = ":chunk:"
_LARGEST = 2**63 - 1


class NotHits(TypeError):
    """A value that cannot be read as hits without changing it, such as an iterator, or as an id, such as an object."""


def are_plain(hits: Sequence[Any]) -> bool:
    """Return whether all hits are short ids, or pairs of one and a number, as nearly always: one walk, no call.

    Whatever else is beside an id is left to :func:`to_hits`: it may be the text of a document.
    """
    try:
        for hit in hits:
            if type(hit) is tuple:
                hit, score = hit
                if type(score) is not float and not _is_score(score):
                    return False
            if type(hit) is not str or len(hit) > LONGEST_ID:
                return False
    except ValueError:  # a tuple of more than two, or of less
        return False
    return True


def _is_score(value: Any) -> bool:
    return value is None or (isinstance(unwrap(value), int | float) and type(value) is not bool)


def are_ids(values: Sequence[Any]) -> bool:
    """Return whether all values are short texts, without a call for each: all of them together nearly always are."""
    try:
        together = "".join(values)
    except TypeError:  # one that is no text
        return False
    return len(together) <= LONGEST_ID or _SHORT.issuperset(map(len, values))


def to_hits(values: Any) -> tuple[LoggedHit, ...]:
    """Return hits from ids, pairs of id and score, scores by id, mappings with ``id`` and ``score``, or hits.

    >>> [(hit.document, hit.rank, hit.score) for hit in to_hits([("wifi:chunk:3", 0.8), "pool"])]
    [('wifi', 1, 0.8), ('pool', 2, None)]
    >>> [hit.document for hit in to_hits({"pool": 0.2, "wifi": 0.7})]
    ['wifi', 'pool']
    """
    if isinstance(values, Mapping):
        values = sorted(values.items(), key=lambda pair: -float(pair[1]))
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise NotHits(f"{type(values).__name__} is not a list of hits")
    return tuple([to_hit(value, rank) for rank, value in enumerate(values, 1)])


def to_hit(value: Any, rank: int) -> LoggedHit:
    """Return one hit of a list at its rank."""
    kind = type(value)
    if kind is str:
        return _make(value, rank, None)
    if (kind is list or kind is tuple) and len(value) == 2:
        return _make(value[0], rank, value[1])
    if isinstance(value, LoggedHit):
        return value
    if kind is list:  # a LoggedHit of the journal: document, rank, score, and so on
        return convert(value, LoggedHit)
    if isinstance(value, Hit):
        document, name = to_id(value.document), to_id(value.id)
        span = (value.span.start, value.span.end) if value.span is not None else None
        chunk = name if name != document else ""
        return LoggedHit(
            document,
            rank,
            to_float(value.score),
            tuple(value.channels),
            span,
            value.section or value.block,
            chunk,
        )
    if isinstance(value, Mapping):
        return _from_mapping(value, rank)
    return _make(value, rank, None)


def _make(id: Any, rank: int, score: Any) -> LoggedHit:
    document, chunk = split_id(id if type(id) is str else to_id(id))
    value = score if type(score) is float and isfinite(score) else to_float(score)
    return LoggedHit(document, rank, value, (), None, "", chunk)


def split_id(text: str) -> tuple[str, str]:
    """Return the document of an id, and the id itself if it is that of a chunk.

    >>> split_id("wifi:chunk:3"), split_id("wifi")
    (('wifi', 'wifi:chunk:3'), ('wifi', ''))
    """
    if (cut := text.rfind(_CHUNK)) > 0:  # what document_of does, without a regular expression for each hit
        number = text[cut + len(_CHUNK) :]
        if number.isdecimal() and number.isascii():
            return text[:cut], text
    return text, ""


def _from_mapping(value: Mapping[str, Any], rank: int) -> LoggedHit:
    ids = value.get("id", value.get("chunk")), value.get("document")
    name, document = ("" if own is None else to_id(own) for own in ids)
    if not name and not document:
        raise NotHits("a mapping with neither 'id' nor 'document' is no hit")
    document = document or document_of(name)
    span = value.get("span")
    return LoggedHit(
        document,
        rank,
        to_float(value.get("score")),
        tuple(map(str, value.get("channels") or ())),
        (int(span[0]), int(span[1])) if span is not None else None,
        to_id(section) if (section := value.get("section")) is not None else "",
        "" if name == document else name,
    )


def to_id(value: Any) -> str:
    """Return the id of a document as text. An object is none: its text may be all that it holds.

    >>> to_id("wifi"), to_id(17)
    ('wifi', '17')
    >>> to_id(["Call ann@example.org"])
    Traceback (most recent call last):
    karat.online._hit_rows.NotHits: a list is no id of a document
    """
    if type(value) is str:
        return value
    plain = unwrap(value)
    if isinstance(plain, str | int | UUID) and type(plain) is not bool:
        return str(plain)
    raise NotHits(f"{name_type(value)} is no id of a document")


def to_text(value: Any) -> str:
    """Return a value as text: None is the empty one."""
    return value if type(value) is str else "" if value is None else str(unwrap(value))


def to_float(value: Any) -> float | None:
    """Return a number as a float; None for what is none, and for NaN and infinity, which no file may hold."""
    if value is None or type(value) is bool:
        return None
    number = value if type(value) is float else _read_number(value)
    return number if number - number == 0 else None


def _read_number(value: Any) -> float:
    """Return a value as a number; one that is none raises without its text, which may be anybody's."""
    try:
        return float(value)
    except (ValueError, TypeError):
        raise ValueError(f"{name_type(value)} is no number") from None


def to_rank(value: Any) -> int | None:
    """Return a rank, from 1; None for less, which other tools write for what does not come from a search.

    >>> to_rank("2"), to_rank(-1), to_rank(None)
    (2, None, None)
    """
    number = to_count(value)
    return number if number else None


def to_count(value: Any) -> int | None:
    """Return a whole number, from 0; None for less. One that no file can hold raises."""
    try:
        number = -1 if value is None else int(value)
    except (ValueError, TypeError):
        raise ValueError(f"{name_type(value)} is no whole number") from None
    if number > _LARGEST:
        raise ValueError(f"{number} is too large")
    return number if number >= 0 else None


def to_floats(values: Any) -> dict[str, float]:
    """Return the finite numbers of a mapping by name."""
    if not values:
        return {}
    if type(values) is dict and _are_plain(values):
        return values
    numbers = ((to_text(name), to_float(value)) for name, value in dict(values).items())
    return {name: number for name, number in numbers if number is not None}


def _are_plain(values: dict[Any, Any]) -> bool:
    """Return whether a mapping has finite numbers by name, as nearly always, without a call for each."""
    numbers = values.values()
    return (
        _TEXT.issuperset(map(type, values)) and _FLOATS.issuperset(map(type, numbers)) and all(map(isfinite, numbers))
    )


def to_channels(values: Any) -> dict[str, tuple[str, ...]]:
    """Return the ids that each channel returned, best first."""
    if not values:
        return {}
    return {to_text(name): _list_ids(listed) for name, listed in dict(values).items()}


def _list_ids(values: Any) -> tuple[str, ...]:
    if isinstance(values, list | tuple) and _TEXT.issuperset(map(type, values)):  # as nearly always: no call for each
        return tuple(values)
    return tuple([hit.id for hit in to_hits(values)] if isinstance(values, Mapping) else map(_id_of, values))


def to_ids(values: Any) -> tuple[str, ...]:
    """Return the ids of citations: texts, or whatever has an ``id``."""
    if not values:
        return ()
    if isinstance(values, str):
        return (values,)
    return tuple(_id_of(value) for value in values)


def _id_of(value: Any) -> str:
    if type(value) is str:
        return value
    if isinstance(value, list | tuple):
        return to_id(value[0])
    if isinstance(value, Mapping):
        return to_id(value.get("id"))
    return to_id(getattr(value, "id", value))
