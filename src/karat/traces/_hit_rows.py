"""Hits as records of a run file, and read again: the short way by a compiled decoder, the long way field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, TypeVar

from msgspec import UNSET, Struct, UnsetType

from karat.core import Hit, Place, Span, shorten
from karat.schema import FARTHEST, LONGEST, TraceHit

T = TypeVar("T")

_HIT_TEXTS = ("section", "block", "type", "content", "source_hash", "tenant", "locator")
_hit_texts = attrgetter(*_HIT_TEXTS)


def hit_record(hit: Hit) -> dict[str, Any]:
    """Return a hit as a record, without its empty fields."""
    record: dict[str, Any] = {"id": hit.id, "score": hit.score}
    if hit.document != hit.id:
        record["document"] = hit.document
    if hit.span is not None:
        record["span"] = [hit.span.start, hit.span.end]
    texts = _hit_texts(hit)
    if any(texts):
        record |= {name: text for name, text in zip(_HIT_TEXTS, texts, strict=True) if text}
    if hit.channels:
        record["channels"] = {name: [place.rank, place.score] for name, place in hit.channels.items()}
    if hit.stages:
        record["stages"] = dict(hit.stages)
    return record


class WholeHit(Struct, forbid_unknown_fields=True, gc=False):
    """The record of a hit with an id and a score, as nearly all have."""

    id: str
    score: float
    document: str | UnsetType = UNSET


def build_hit(row: TraceHit, ids: dict[str, str]) -> Hit:
    """Return the hit of a decoded record; ``ids`` keeps each id once, however many hits have it."""
    id_ = ids.setdefault(row.id, row.id)
    document = id_ if row.document is UNSET else ids.setdefault(row.document, row.document)
    return Hit(
        id_,
        row.score,
        document,
        Span(*row.span) if row.span else None,
        section=row.section or "",
        block=row.block or "",
        type=row.type or "",
        content=row.content or "",
        channels={name: Place(rank, score) for name, (rank, score) in (row.channels or {}).items()},
        stages=row.stages or {},
        source_hash=row.source_hash or "",
        tenant=row.tenant or "",
        locator=row.locator or "",
    )


def require(kind: type[T], value: object) -> T:
    """Return a value of a type; raise TypeError for any other, such as a bool for an int."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{shorten(value)} is of the wrong type")
    return value


def require_finite(value: Any) -> float:
    """Return a finite number; raise ValueError for anything else."""
    if isinstance(value, bool | str) or not math.isfinite(number := float(value)):
        raise ValueError(f"{shorten(value)} is not a finite number")
    return number


def require_time(value: Any) -> float:
    """Return milliseconds; raise ValueError for a number that no clock shows."""
    if abs(number := require_finite(value)) > LONGEST:
        raise ValueError(f"{shorten(value)} ms is longer than anything takes")
    return number


def _require_offset(value: Any) -> int:
    if abs(offset := require(int, value)) > FARTHEST:
        raise ValueError(f"no text has byte {shorten(value)}")
    return offset


def read_span(record: Mapping[str, Any]) -> Span | None:
    """Return the span of a record, each offset checked."""
    span = record.get("span")
    return None if span is None else Span(*map(_require_offset, span))


def read_hit(record: Mapping[str, Any]) -> Hit:
    """Return the hit of a record, each field checked; what is wrong raises a TypeError, ValueError or KeyError."""
    return Hit(
        require(str, record["id"]),
        require_finite(record["score"]),
        require(str, record.get("document", record["id"])),
        read_span(record),
        channels={
            name: Place(require(int, rank), require_finite(score))
            for name, (rank, score) in record.get("channels", {}).items()
        },
        stages={name: require_finite(value) for name, value in record.get("stages", {}).items()},
        **{name: require(str, record[name]) for name in _HIT_TEXTS if name in record},
    )
