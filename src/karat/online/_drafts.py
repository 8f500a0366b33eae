"""Records as they are in the journal: as the host gave them, but for what must not be written.

A user waits while they are made. What they mean (which document a chunk belongs to, what is a number and what is not)
is found out by :func:`finish`, when they are read. Their fields are those of the records, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from typing import Any

import msgspec
from msgspec import Struct

from karat.core import Hit
from karat.online._hit_rows import (
    NotHits,
    are_ids,
    to_channels,
    to_count,
    to_float,
    to_floats,
    to_hit,
    to_hits,
    to_ids,
    to_rank,
    to_text,
)
from karat.online._plain import to_scalar
from karat.online._records import LoggedEvent, LoggedHit, LoggedQuery, Record
from karat.online._shadow_records import LoggedShadow, ShadowDraft, finish_shadow
from karat.online._times import find_time, is_plausible

_AS_THEY_ARE = frozenset((str, tuple, dict, LoggedHit, list, int))
"""The types of hits that are encoded without being looked at."""

GIVEN_TIME = "given_time"
"""The attribute that has the time of a record if that could not be right, such as one in milliseconds."""


class QueryDraft(Struct, array_like=True, tag="query"):
    """A query, while it is asked and in the journal."""

    id: str
    time: float
    text: str
    session: Any = ""
    user: Any = ""
    intent: Any = ""
    mode: Any = ""
    tool: Any = ""
    hits: Any = ()
    channels: Any = None
    stages: Any = None
    weights: Any = None
    answer: Any = None
    citations: Any = ()
    error: Any = ""
    latency: Any = None
    system: Any = ""
    weight: float = 1.0
    trace: Any = ""
    quality: Any = None
    attributes: dict[str, Any] | None = None
    count: Any = None
    build: Any = ""
    index: Any = ""
    normaliser: Any = ""
    flags: Any = None


class EventDraft(Struct, array_like=True, tag="event"):
    """An event, in the journal."""

    id: str
    time: float
    kind: Any
    session: Any = ""
    user: Any = ""
    query: Any = ""
    document: Any = ""
    rank: Any = None
    value: Any = None
    weight: float = 1.0
    attributes: dict[str, Any] | None = None


Draft = QueryDraft | EventDraft | ShadowDraft

decode_draft = msgspec.msgpack.Decoder(Draft).decode
encode_draft = msgspec.msgpack.Encoder(enc_hook=to_scalar).encode


def take_hits(values: Any) -> Any:
    """Return hits as they can be encoded: unchanged where possible.

    Raise :class:`NotHits` for what cannot be read without changing it, such as an iterator.
    """
    if isinstance(values, dict):
        return dict(values)
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise NotHits(f"{type(values).__name__} is not a list of hits")
    return tuple(starmap(_take_hit, enumerate(values, 1)))


def take_channels(values: Any) -> tuple[Any, bool]:
    """Return the ids of channels as they can be encoded, copies that the host cannot change; and whether all are short.

    >>> take_channels({"dense": ["wifi", "pool"]})
    ({'dense': ['wifi', 'pool']}, True)
    """
    if type(values) is dict:
        copies = {}
        for name, ids in values.items():
            kind = type(ids)
            if type(name) is not str or (kind is not list and kind is not tuple) or not are_ids(ids):
                break
            copies[name] = ids[:]
        else:
            return copies, True
    return to_channels(values), False


def _take_hit(rank: int, value: Any) -> Any:
    return to_hit(value, rank) if isinstance(value, Hit) or type(value) not in _AS_THEY_ARE else value


def finish(draft: Draft) -> Record | LoggedShadow:
    """Return the record that a draft stands for. What cannot be understood raises.

    A time that cannot be right is replaced by that of the writer's clock, and kept as an attribute.

    >>> draft = QueryDraft("1", 1.7e9, "wifi", hits=("wifi:chunk:3", ("pool", 0.5)), count=2)
    >>> [(hit.document, hit.rank, hit.score) for hit in finish(draft).hits]
    [('wifi', 1, None), ('pool', 2, 0.5)]
    """
    if not is_plausible(draft.time):
        draft.attributes = {**(draft.attributes or {}), GIVEN_TIME: repr(draft.time)}
        draft.time = find_time(draft.id)
    if type(draft) is EventDraft:
        return LoggedEvent(
            draft.id,
            draft.time,
            to_text(draft.kind),
            to_text(draft.session),
            to_text(draft.user),
            to_text(draft.query),
            to_text(draft.document),
            to_rank(draft.rank),
            to_float(draft.value),
            draft.weight,
            draft.attributes or {},
        )
    if type(draft) is ShadowDraft:
        return finish_shadow(draft)
    assert type(draft) is QueryDraft
    return LoggedQuery(
        draft.id,
        draft.time,
        draft.text,
        to_text(draft.session),
        to_text(draft.user),
        to_text(draft.intent),
        to_text(draft.mode),
        to_text(draft.tool),
        to_hits(draft.hits),
        to_channels(draft.channels),
        to_floats(draft.stages),
        to_floats(draft.weights),
        draft.answer,
        to_ids(draft.citations),
        to_text(draft.error),
        to_float(draft.latency),
        to_text(draft.system),
        draft.weight,
        to_text(draft.trace),
        to_float(draft.quality),
        draft.attributes or {},
        to_count(draft.count),
        to_text(draft.build),
        to_text(draft.index),
        to_text(draft.normaliser),
        {to_text(key): to_text(variant) for key, variant in (draft.flags or {}).items()},
    )


def replace_halves(value: Any) -> Any:
    """Return a value with a question mark for each half of a surrogate pair, which UTF-8 does not have."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {replace_halves(key): replace_halves(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [replace_halves(inner) for inner in value]
    if isinstance(value, Struct):
        return type(value)(*(replace_halves(getattr(value, name)) for name in value.__struct_fields__))
    return value
