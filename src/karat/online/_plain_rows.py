"""Rows straight from the bytes of records that are as nearly all are: a text or a number where there should be one.

What such a record means is said by :func:`karat.online._drafts.finish`; the rows here are the same, for a third of the
time. Anything else is left to it.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from karat.online._drafts import GIVEN_TIME
from karat.online._hit_rows import split_id
from karat.online._times import is_plausible
from karat.store import Row

_MOST = 2**63
_KNOWN_IDS = 1 << 14
_encode = msgspec.json.Encoder().encode


class _Ids(dict[str, tuple[str, str]]):
    """Documents and chunks by id: the same ones come back again and again."""

    def __missing__(self, id: str) -> tuple[str, str]:
        if len(self) >= _KNOWN_IDS:
            self.clear()
        parts = self[id] = split_id(id)
        return parts


_ids = _Ids()


class _PlainQuery(Struct, array_like=True, tag="query"):
    """A :class:`karat.online._drafts.QueryDraft` in which every field has the type that it should have."""

    id: str
    time: float
    text: str
    session: str | None = ""
    user: str | None = ""
    intent: str | None = ""
    mode: str | None = ""
    tool: str | None = ""
    hits: list[str | tuple[str, float | None]] = []
    channels: dict[str, list[str]] | None = None
    stages: dict[str, float] | None = None
    weights: dict[str, float] | None = None
    answer: str | None = None
    citations: list[str] = []
    error: str = ""
    latency: float | None = None
    system: str | None = ""
    weight: float = 1.0
    trace: str | None = ""
    quality: float | None = None
    attributes: dict[str, Any] | None = None
    count: int | None = None
    build: str | None = ""
    index: str | None = ""
    normaliser: str | None = ""
    flags: dict[str, str] | None = None


class _PlainEvent(Struct, array_like=True, tag="event"):
    """The same of an :class:`karat.online._drafts.EventDraft`."""

    id: str
    time: float
    kind: str
    session: str | None = ""
    user: str | None = ""
    query: str | None = ""
    document: str | None = ""
    rank: int | None = None
    value: float | None = None
    weight: float = 1.0
    attributes: dict[str, Any] | None = None


_decode = msgspec.msgpack.Decoder(_PlainQuery | _PlainEvent).decode


def read_plain(payload: bytes) -> tuple[Row | None, Row | None]:
    """Return the row of a query, or of an event, from a record of the journal; neither if it is not plain.

    >>> from karat.online._drafts import QueryDraft, encode_draft
    >>> query, _ = read_plain(encode_draft(QueryDraft("1", 1.7e9, "wifi?", hits=("pool:chunk:3", ("wifi", 0.5)))))
    >>> query[8]
    '[["pool",1,null,[],null,"","pool:chunk:3"],["wifi",2,0.5,[],null,"",""]]'
    """
    try:
        record = _decode(payload)
    except (msgspec.ValidationError, UnicodeDecodeError):
        return None, None
    if not is_plausible(record.time) or (record.attributes and GIVEN_TIME in record.attributes):
        return None, None
    return (_make_query(record), None) if type(record) is _PlainQuery else (None, _make_event(record))


def _make_query(query: _PlainQuery) -> Row | None:
    count, stages, weights = query.count, _numbers(query.stages), _numbers(query.weights)
    if stages is None or weights is None or (count is not None and not 0 <= count < _MOST):
        return None
    return (
        query.id,
        query.time,
        query.text,
        query.session or "",
        query.user or "",
        query.intent or "",
        query.mode or "",
        query.tool or "",
        _hits(query.hits) if query.hits else "[]",
        _encode(query.channels).decode() if query.channels else "{}",
        stages,
        weights,
        query.answer,
        _encode(query.citations).decode() if query.citations else "[]",
        query.error,
        _finite(query.latency),
        query.system or "",
        query.weight,
        query.trace or "",
        _finite(query.quality),
        _encode(query.attributes).decode() if query.attributes else "{}",
        count,
        query.build or "",
        query.index or "",
        query.normaliser or "",
        _encode(query.flags).decode() if query.flags else "{}",
    )


def _make_event(event: Any) -> Row | None:
    if event.rank is not None and not 0 < event.rank < _MOST:
        return None
    return (
        event.id,
        event.time,
        event.kind,
        event.session or "",
        event.user or "",
        event.query or "",
        event.document or "",
        event.rank,
        _finite(event.value),
        event.weight,
        _encode(event.attributes).decode() if event.attributes else "{}",
    )


def _hits(hits: list[Any]) -> str:
    rows, rank = [], 0
    for hit in hits:
        name, score = hit if type(hit) is tuple else (hit, None)
        parts, rank = _ids[name], rank + 1
        rows.append((parts[0], rank, score, (), None, "", parts[1]))
    return _encode(rows).decode()


def _numbers(values: dict[str, float] | None) -> str | None:
    """Return numbers as JSON; None if one is not finite, which JSON has no number for."""
    if not values:
        return "{}"
    text = _encode(values).decode()
    return None if "null" in text else text


def _finite(number: float | None) -> float | None:
    return number if number is not None and number - number == 0 else None
