"""A sampled call on its way to the treatment, and what became of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any

from karat.core import Answer, Citation, Hit, Span, document_of, name_type
from karat.online._hit_rows import NotHits, to_hit, to_id, to_text
from karat.online._records import LoggedHit
from karat.online._shadow_records import (
    ANSWERED,
    BREAKER_OPEN,
    FAILED,
    QUEUE_FULL,
    TIMEOUT,
    MirroredAnswer,
    MirroredPart,
    ShadowDraft,
)

DEPTH = 100
"""The documents of a list that are kept."""

_PAIRS, _TEXTS = frozenset((tuple,)), frozenset((str,))
_ATOMS = frozenset((str, int, float, bool, bytes, type(None)))


@dataclass(slots=True)
class Job:
    """A call that the treatment is asked, too: its record, and arguments of its own."""

    draft: ShadowDraft
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    context: Context | None = None
    trial: bool = False
    """Whether it decides about a half-open breaker."""
    done: bool = False
    """Whether what became of it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a job."""

    status: str
    ids: tuple[str, ...] = ()
    """Those of the hits, best first."""
    latency: float | None = None
    """Milliseconds."""
    error: str = ""
    answer: MirroredAnswer | None = None


DROPPED, LEFT_ALONE = Outcome(status=QUEUE_FULL), Outcome(status=BREAKER_OPEN)
"""What becomes of a call while its caller waits: always the same, so that it is made once."""


def time_out(seconds: float) -> Outcome:
    """Return the outcome of a job that was given up. It took at least so long, so that it counts among latencies."""
    return Outcome(status=TIMEOUT, latency=seconds * 1000, error=f"no answer within {seconds:g} s")


def copy_arguments(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments that may be changed without the control noticing; texts and numbers need no copy."""
    if _ATOMS.issuperset(map(type, arguments)) and _ATOMS.issuperset(map(type, options.values())):
        return arguments, dict(options)
    own: tuple[tuple[Any, ...], dict[str, Any]] = copy.deepcopy((arguments, options))
    return own


def find_text(arguments: tuple[Any, ...], options: Mapping[str, Any]) -> str:
    """Return the query of a call: what is called query, text, q or question, or the first text.

    >>> find_text((7, "wifi"), {}), find_text((), {"query": "pool", "k": 3}), find_text((), {})
    ('wifi', 'pool', '')
    """
    if options:
        for name in ("query", "text", "q", "question"):
            if type(value := options.get(name)) is str:
                return value
    for value in arguments:
        if type(value) is str:
            return value
    return ""


def list_ids(result: Any, *, consume: bool = False) -> tuple[str, ...]:
    """Return the ids of what a system returned, best first: of documents, or of chunks, which are read as theirs later.

    Raise :class:`NotHits` for what is not a list of hits. Only with ``consume`` an iterator is read.

    >>> list_ids(["wifi:chunk:2", "pool"]), list_ids(Answer("Free.", hits=[("spa", 0.5)]))
    (('wifi:chunk:2', 'pool'), ('spa',))
    """
    if type(result) is not list:  # nearly always it is one, and needs no look at what else it may be
        result = _find_hits(result)
    if type(result) is not list:
        if isinstance(result, str | bytes) or not isinstance(result, Iterable if consume else Sequence):
            raise NotHits(f"{type(result).__name__} is not a list of hits")
        result = list(islice(result, DEPTH))
    items = result[:DEPTH]
    if _PAIRS.issuperset(map(type, items)):
        items = [item[0] if len(item) == 2 else item for item in items]
    return tuple(items) if _TEXTS.issuperset(map(type, items)) else tuple([_name_document(item) for item in items])


def _find_hits(result: Any) -> Any:
    """Return the hits of an answer, or of a mapping that has some; anything else as it is."""
    if isinstance(result, Answer):
        return result.hits
    if isinstance(result, Mapping):
        if "hits" not in result:
            raise NotHits("a mapping without hits")
        return result["hits"]
    return result


def _name_document(item: Any) -> str:
    kind = type(item)
    if kind is str or kind is Hit or kind is LoggedHit:
        return item if kind is str else item.document  # type: ignore[no-any-return]
    if not isinstance(item, str | int | list | tuple | Mapping):
        name = getattr(item, "document", None) or getattr(item, "id", None)
        if isinstance(name, str | int):
            return to_text(name)
    return to_hit(item, 1).document


def mirror_answer(result: Any, k: int) -> MirroredAnswer | None:
    """Return the answer of a system with what it cites and its first k hits; None if it returned hits only.

    A citation that cannot be read is kept as an id that no document has: it counts as a wrong one.

    >>> mirror_answer(Answer("Free.", [1], hits=[("wifi:chunk:3", 0.5)]), 10).citations[0].document
    'wifi'
    """
    if isinstance(result, Mapping):
        text = result.get("text", result.get("answer"))
        if text is None and not result.get("refused"):
            return None
        citations, hits, refused = result.get("citations") or (), result.get("hits") or (), bool(result.get("refused"))
    elif isinstance(result, Answer):
        text, citations, hits, refused = result.text, result.citations, result.hits, result.refused
    else:
        return None
    hits = getattr(hits, "hits", hits)  # karat's own pipeline has its timings around them
    if isinstance(hits, Mapping):
        hits = list(hits.items())
    listed = [_make_part(hit) for hit in islice(hits, DEPTH)] if isinstance(hits, Sequence) else []
    by_id = {part.id: part for part in reversed(listed)}
    cited = islice(citations, DEPTH) if isinstance(citations, Iterable) and not isinstance(citations, str) else ()
    parts = tuple(_cite(item, listed, by_id) for item in cited)
    return MirroredAnswer(to_text(text), bool(refused), parts, tuple(listed[:k]))


def _cite(item: Any, hits: list[MirroredPart], by_id: Mapping[str, MirroredPart]) -> MirroredPart:
    if type(item) is int:
        return hits[item - 1] if 1 <= item <= len(hits) else MirroredPart(f"citation {item}", "")
    if isinstance(item, str):
        return by_id.get(item) or MirroredPart(item, document_of(item))
    part = _make_part(item)
    plain = not (part.section or part.block or part.span)
    return by_id.get(part.id, part) if plain else part


def _make_part(item: Any) -> MirroredPart:
    if isinstance(item, Hit | Citation):
        return MirroredPart(item.id, item.document, item.section, item.block, _read_span(item.span))
    if isinstance(item, Mapping):
        name = _name(item.get("id", item.get("chunk", item.get("document", ""))))
        document = _name(item.get("document", "")) or document_of(name)
        span = _read_span(item.get("span", item.get("offsets")))
        return MirroredPart(name, document, to_text(item.get("section")), to_text(item.get("block")), span)
    name = _name(item[0] if isinstance(item, list | tuple) and item else item)
    return MirroredPart(name, document_of(name))


def _name(value: Any) -> str:
    """Return an id as text; for what is none, such as an object, one that no document has; for None the empty one."""
    if value is None:
        return ""
    try:
        return to_id(value)
    except NotHits:
        return f"no id, but {name_type(value)}"


def _read_span(span: Any) -> tuple[int, int] | None:
    if span is None:
        return None
    start, end = (span.start, span.end) if isinstance(span, Span) else span
    return int(start), int(end)


def describe(error: BaseException) -> str:
    """Return the type and the text of an error without secrets."""
    from karat.net import describe_error  # only here: most treatments never fail

    return describe_error(error)[:2000]


def ask(treatment: Callable[..., Any], job: Job, timeout: float) -> Outcome:
    """Ask a treatment; never raise. An awaitable is awaited in the loop that karat has for it."""
    start = perf_counter()
    try:
        result = treatment(*job.arguments, **job.options)
        if hasattr(result, "__await__"):
            from karat.net import resolve

            result = resolve(result, timeout)
        return read_outcome(result, start, job.draft.k)
    except BaseException as error:  # SystemExit, too: it would end the worker
        return Outcome(status=FAILED, latency=(perf_counter() - start) * 1000, error=describe(error))


def read_outcome(result: Any, start: float, k: int) -> Outcome:
    """Return the outcome of a treatment that has returned something."""
    latency = (perf_counter() - start) * 1000
    try:
        ids = list_ids(result, consume=True)
        return Outcome(status=ANSWERED, ids=ids, latency=latency, answer=mirror_answer(result, k))
    except Exception as error:
        return Outcome(status=FAILED, latency=latency, error=describe(error))
