"""The lines of a run file: traces as records, and read again.

There are three ways to read them. The shortest reads plain answers in columns. The short one decodes all lines at once,
if each is as karat writes it. The long one checks field by field, and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from karat.core import HitList, InputError, Trace, make_trace
from karat.files import decode, decode_plain, parse_json, take_plain
from karat.schema import Milliseconds, TraceDocument
from karat.traces._hit_columns import HitColumns, HitObjects
from karat.traces._hit_rows import WholeHit, build_hit, hit_record, read_hit, require, require_time
from karat.traces._stage_rows import add_details, build_details, read_details
from karat.traces._trace_columns import decode_columns


def trace_record(trace: Trace) -> dict[str, Any]:
    """Return a trace as a record of a run file, without its empty fields."""
    return _make_record(trace, [hit_record(hit) for hit in trace.hits])


def encode_trace(trace: Trace) -> bytes:
    """Return :func:`trace_record` as JSON, in a tenth of the time; an error if only Python's encoder can write it."""
    hits = trace.listed
    if not isinstance(hits, HitList):
        return msgspec.json.encode(trace_record(trace))
    ids, documents = hits.names()
    if documents is ids:
        rows = list(map(WholeHit, ids, hits.scores))
    else:
        named = (UNSET if own == id_ else own for id_, own in zip(ids, documents, strict=True))
        rows = list(map(WholeHit, ids, hits.scores, named))
    return msgspec.json.encode(_make_record(trace, rows))


def _make_record(trace: Trace, hits: list[Any]) -> dict[str, Any]:
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
    record["hits"] = hits
    add_details(record, trace)
    return record


_Natural = Annotated[int, Meta(ge=0)]


class _WholeTrace(Struct, forbid_unknown_fields=True, kw_only=True):
    """The answer of a system that returns ids and scores: what nearly all lines have of :class:`TraceDocument`."""

    query: str
    text: str
    ms: dict[str, Milliseconds]
    paraphrase: _Natural | UnsetType = UNSET
    repeat: _Natural | UnsetType = UNSET
    error: str | UnsetType = UNSET
    judged: str | UnsetType = UNSET
    hits: Raw
    """Left as they are until those of many traces are read together."""


_MANY = 1 << 16
"""Bytes from which on lines are read in columns, which takes a while to begin."""
_LONG = 1 << 13
"""Bytes from which on a single line is read faster in one of the short ways: each takes a while to begin."""


def decode_traces(data: bytes, start: int = 0, end: int | None = None) -> Sequence[Trace] | None:
    """Return the traces of a run file, without its first and last line, or None: then the long way says what is wrong.

    They stand between two places of the data.

    >>> line = b'{"query": "q", "text": "?", "ms": {"total": 1.5}, "hits": [{"id": "wifi", "score": 0.5}]}'
    >>> [(trace.query, trace.hits[0].document) for trace in decode_traces(line)]
    [('q', 'wifi')]
    """
    last = len(data) if end is None else end
    if last - start >= _MANY and (table := decode_columns(data, start, last)) is not None:
        return table
    traces = _decode_whole(data, HitColumns(), start, end) or _decode_whole(data, HitObjects(), start, end)
    if traces is None:
        ids: dict[str, str] = {}  # an id is kept once, however many hits have it

        def build_plain(row: TraceDocument) -> Trace:
            return _build(row, tuple([build_hit(hit, ids) for hit in row.hits]), **build_details(row, ids))

        traces = decode_plain(data[start:end], TraceDocument, build_plain)
    return None if traces is None or any(trace.error and trace.listed for trace in traces) else traces


def _decode_whole(
    data: bytes, hits: HitColumns | HitObjects, start: int = 0, end: int | None = None
) -> tuple[Trace, ...] | None:
    """Return the traces of a run file whose hits are read in this way, or None if it has others."""
    whole: list[_WholeTrace] = []

    def take(rows: list[_WholeTrace]) -> None:
        hits.add([row.hits for row in rows])
        for row in rows:
            row.hits = _TAKEN  # which would keep the bytes of the file
        whole.extend(rows)

    if not take_plain(data, _WholeTrace, take, start=start, end=end):
        return None
    try:
        lists = hits.lists()
    except UnicodeDecodeError:
        return None
    return tuple(map(_build_whole, whole, lists))


_TAKEN = Raw(b"")


def _build_whole(row: _WholeTrace, hits: HitList) -> Trace:
    if row.paraphrase or row.repeat:
        return _build(row, hits)
    return make_trace(intern(row.query), row.text, hits, row.ms, row.error or "", row.judged or "")


def decode_trace(line: bytes, source: str, number: int) -> Trace:
    """Return the trace on a line of a run file, or raise an error that says what is wrong with it."""
    traces = decode_traces(line) if len(line) >= _LONG else None
    return traces[0] if traces else read_trace(parse_json(decode(line, source), source, number), source, number)


def _build(row: _WholeTrace | TraceDocument, hits: Any, **details: Any) -> Trace:
    return Trace(
        query=row.query,
        text=row.text,
        hits=hits,
        timings=row.ms,
        error=row.error or "",
        paraphrase=row.paraphrase or 0,
        repeat=row.repeat or 0,
        judged=row.judged or "",
        **details,
    )


def read_trace(record: Any, source: str, line: int | None = None) -> Trace:
    """Return the trace of a record, or raise an error that says what is wrong with it."""
    try:
        trace = Trace(
            query=require(str, record["query"]),
            text=require(str, record["text"]),
            hits=tuple(map(read_hit, record["hits"])),
            timings={stage: require_time(value) for stage, value in record.get("ms", {}).items()},
            error=require(str, record.get("error", "")),
            paraphrase=require(int, record.get("paraphrase", 0)),
            repeat=require(int, record.get("repeat", 0)),
            judged=require(str, record.get("judged", "")),
            **read_details(record),
        )
        if trace.error and trace.hits:
            raise ValueError("it has an error and hits")
        if min(trace.paraphrase, trace.repeat) < 0:
            raise ValueError("a paraphrase or repeat is below 0")
        return trace
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError) as error:
        raise InputError(f"is not a trace: {error!r}", source=source, line=line) from None
