"""The lines of a run file: traces as records, and read again.

There are two ways to read them. The short one decodes all lines at once, if each is as karat writes it. The long one
checks field by field, and says what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from karat.core import Hit, InputError, Place, Span, Trace, make_hits, shorten
from karat.files import decode_plain

T = TypeVar("T")

_HIT_TEXTS = ("section", "block", "type", "content", "source_hash", "tenant", "locator")
_hit_texts = attrgetter(*_HIT_TEXTS)
LONGEST = 1e15
"""Milliseconds that no answer takes. A larger number is damage, and a sum of such numbers may be infinite."""
_Number = Annotated[int, Meta(ge=0)]
_FARTHEST = 10**15  # bytes of a text
_Offset = Annotated[int, Meta(ge=-_FARTHEST, le=_FARTHEST)]
_Time = Annotated[float, Meta(ge=-LONGEST, le=LONGEST)]


def trace_record(trace: Trace) -> dict[str, Any]:
    """Return a trace as a record of a run file, without its empty fields."""
    record: dict[str, Any] = {"query": trace.query, "text": trace.text}
    if trace.paraphrase:
        record["paraphrase"] = trace.paraphrase
    if trace.repeat:
        record["repeat"] = trace.repeat
    if trace.judged:
        record["judged"] = trace.judged
    record["ms"] = dict(trace.timings)
    if trace.error:
        record["error"] = trace.error
    record["hits"] = [_hit_record(hit) for hit in trace.hits]
    return record


def _hit_record(hit: Hit) -> dict[str, Any]:
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


class _WholeHit(Struct, forbid_unknown_fields=True, gc=False):
    id: str
    score: float
    document: str | UnsetType = UNSET


class _PlainHit(Struct, forbid_unknown_fields=True):
    id: str
    score: float
    document: str | UnsetType = UNSET
    span: tuple[_Offset, _Offset] | UnsetType = UNSET
    section: str | UnsetType = UNSET
    block: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    content: str | UnsetType = UNSET
    channels: dict[str, tuple[int, float]] | UnsetType = UNSET
    stages: dict[str, float] | UnsetType = UNSET
    source_hash: str | UnsetType = UNSET
    tenant: str | UnsetType = UNSET
    locator: str | UnsetType = UNSET


class _Asked(Struct, forbid_unknown_fields=True, kw_only=True):
    query: str
    text: str
    ms: dict[str, _Time]
    paraphrase: _Number | UnsetType = UNSET
    repeat: _Number | UnsetType = UNSET
    error: str | UnsetType = UNSET
    judged: str | UnsetType = UNSET


class _WholeTrace(_Asked, kw_only=True):
    """The answer of a system that returns ids and scores."""

    hits: list[_WholeHit]


class _PlainTrace(_Asked, kw_only=True):
    hits: list[_PlainHit]


def decode_traces(data: bytes) -> tuple[Trace, ...] | None:
    """Return the traces of a run file, without its first and last line, or None: then the long way says what is wrong.

    >>> line = b'{"query": "q", "text": "?", "ms": {"total": 1.5}, "hits": [{"id": "wifi", "score": 0.5}]}'
    >>> [(trace.query, trace.hits[0].document) for trace in decode_traces(line)]
    [('q', 'wifi')]
    """
    ids: dict[str, str] = {}  # an id is kept once, however many hits have it

    def build_whole(row: _WholeTrace) -> Trace:
        names = [ids.setdefault(hit.id, hit.id) for hit in row.hits]
        documents = [
            id_ if hit.document is UNSET else ids.setdefault(hit.document, hit.document)
            for hit, id_ in zip(row.hits, names, strict=True)
        ]
        return _build(row, make_hits(names, [hit.score for hit in row.hits], documents))

    def build_plain(row: _PlainTrace) -> Trace:
        return _build(row, tuple([_read_hit(hit, ids) for hit in row.hits]))

    traces = decode_plain(data, _WholeTrace, build_whole)
    if traces is None:
        traces = decode_plain(data, _PlainTrace, build_plain)
    return None if traces is None or any(trace.error and trace.hits for trace in traces) else traces


def _build(row: _Asked, hits: tuple[Hit, ...]) -> Trace:
    return Trace(
        query=row.query,
        text=row.text,
        hits=hits,
        timings=row.ms,
        error=row.error or "",
        paraphrase=row.paraphrase or 0,
        repeat=row.repeat or 0,
        judged=row.judged or "",
    )


def _read_hit(row: _PlainHit, ids: dict[str, str]) -> Hit:
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


def read_trace(record: Any, source: str, line: int) -> Trace:
    try:
        trace = Trace(
            query=_require(str, record["query"]),
            text=_require(str, record["text"]),
            hits=tuple(map(_check_hit, record["hits"])),
            timings={stage: _require_time(value) for stage, value in record.get("ms", {}).items()},
            error=_require(str, record.get("error", "")),
            paraphrase=_require(int, record.get("paraphrase", 0)),
            repeat=_require(int, record.get("repeat", 0)),
            judged=_require(str, record.get("judged", "")),
        )
        if trace.error and trace.hits:
            raise ValueError("it has an error and hits")
        if min(trace.paraphrase, trace.repeat) < 0:
            raise ValueError("a paraphrase or repeat is below 0")
        return trace
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError) as error:
        raise InputError(f"is not a trace: {error!r}", source=source, line=line) from None


def _require(kind: type[T], value: object) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{shorten(value)} is of the wrong type")
    return value


def _require_finite(value: Any) -> float:
    if isinstance(value, bool | str) or not math.isfinite(number := float(value)):
        raise ValueError(f"{shorten(value)} is not a finite number")
    return number


def _require_time(value: Any) -> float:
    if abs(number := _require_finite(value)) > LONGEST:
        raise ValueError(f"{shorten(value)} ms is longer than anything takes")
    return number


def _require_offset(value: Any) -> int:
    if abs(offset := _require(int, value)) > _FARTHEST:
        raise ValueError(f"no text has byte {shorten(value)}")
    return offset


def _check_hit(record: Mapping[str, Any]) -> Hit:
    span = record.get("span")
    return Hit(
        _require(str, record["id"]),
        _require_finite(record["score"]),
        _require(str, record.get("document", record["id"])),
        None if span is None else Span(*map(_require_offset, span)),
        channels={
            name: Place(_require(int, rank), _require_finite(score))
            for name, (rank, score) in record.get("channels", {}).items()
        },
        stages={name: _require_finite(value) for name, value in record.get("stages", {}).items()},
        **{name: _require(str, record[name]) for name in _HIT_TEXTS if name in record},
    )
