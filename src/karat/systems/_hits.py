"""Reading hits from whatever a system returned."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import islice
from operator import index
from typing import Any

from karat.core import (
    Hit,
    HitList,
    KaratError,
    Place,
    Span,
    Stage,
    SystemFailed,
    check_id,
    document_of,
    make_hits,
    shorten,
)
from karat.net import describe_error, hide_secrets

_FIELDS = tuple(entry.name for entry in fields(Hit))
_TEXTS = ("document", "section", "block", "type", "content", "source_hash", "tenant", "locator")
_TEXT = {str}
_ID = ("id", "chunk_id", "doc_id")
_DOCUMENT = ("document", "source_entity_id", "document_id")
_SCORES = {"combined": "combined_score", "rerank": "rerank_score", "similarity": "similarity_score"}
"""The scores of a reranked hit by stage; without ``score``, the first that it has is its score."""
_CONTENT = ("content", "text", "page_content")
_SPAN = ("span", "offsets")
_TENANT = ("tenant", "company_id")


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Hits with the milliseconds that each stage took, for a system that measures them."""

    hits: Sequence[Hit]
    timings: Mapping[str, float]
    milliseconds: float | None = None
    """How long the answer takes, if that is not what the call took, because something came from a cache."""
    stages: Sequence[Stage] = ()
    """The lists after each stage, if the system records them; the candidates of each channel are a stage. Their hits
    may be anything that a system may return."""
    telemetry: Mapping[str, Any] = field(default_factory=dict)
    """What else the system records about the answer, as JSON values, which karat keeps as they are."""

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


class TenantMixed(SystemFailed):
    """A hit belongs to another tenant, which voids the whole run."""


def read_hits(result: object, k: int, tenant: str = "") -> tuple[Hit, ...]:
    """Return the first k hits of an answer; raise SystemFailed if it is not a list of hits.

    A hit is a ``Hit``, an object or a mapping with ``id`` or ``document``, a pair of id and score, or an id. The order
    is the system's own, whatever the scores are. Hits without scores get scores that fall from rank to rank.

    >>> [(hit.document, hit.score) for hit in read_hits([{"document": "wifi"}, ("pool", 0.5)], 10)]
    [('wifi', 2.0), ('pool', 0.5)]
    """
    return tuple(list_hits(result, k, tenant))


def list_hits(result: object, k: int, tenant: str = "") -> Sequence[Hit]:
    """Return what :func:`read_hits` does, but a :class:`HitList` if the answer has only ids, as most large runs do."""
    items = result[:k] if type(result) is list else _take_items(result, k)
    if tenant:
        _refuse_other_tenants(items, tenant)
    if set(map(type, items)) == _TEXT and all(items):
        text = "\n".join(items)
        if text.isascii():  # ids that need no other check
            documents = list(map(document_of, items)) if ":chunk:" in text else None
            return HitList(items, list(_fall_by_rank(len(items))), documents)
    return tuple(_read_hit(item, rank, len(items)) for rank, item in enumerate(items, 1))


def _take_items(result: object, k: int) -> list[Any]:
    """Return the first k items of an answer; raise SystemFailed if it has no order."""
    if isinstance(result, str | bytes | Mapping) or not isinstance(result, Iterable):
        raise SystemFailed(f"the system returned {shorten(result)}, not a list of hits")
    if isinstance(result, Set):
        raise SystemFailed(f"the system returned {shorten(result)}, a set, which has no order; return a list")
    return list(islice(result, k))


@lru_cache(maxsize=64)
def _fall_by_rank(count: int) -> tuple[float, ...]:
    """Return the scores of hits without scores. They are the same objects for all lists of this length."""
    return tuple(map(float, range(count, 0, -1)))


def _refuse_other_tenants(items: Sequence[object], tenant: str) -> None:
    """Raise TenantMixed for a hit of another tenant, whatever else may be wrong with the hits."""
    for item in items:
        get = _getter(item)
        owner = _first(get, _TENANT)
        if owner and str(owner) != tenant:
            name = _first(get, (*_ID, *_DOCUMENT))
            raise TenantMixed(f"hit {shorten(name)} belongs to tenant {shorten(owner)}, not to {shorten(tenant)}")


def _read_hit(item: object, rank: int, count: int) -> Hit:
    fallback = float(count - rank + 1)
    try:
        if type(item) is str:
            return Hit(check_id(item, ""), fallback)
        if isinstance(item, Hit):
            return _check(item)
        if isinstance(item, Mapping) and item.get("score", 0.0) is None:
            raise TypeError("score None is not a number")
        if isinstance(item, Mapping) or _has_id(item):
            return _check(_from_record(_getter(item), fallback))
        if isinstance(item, tuple | list) and len(item) == 2:
            id_ = check_id(item[0], "")
            return make_hits([id_], [_number(item[1], "score")], [document_of(id_)])[0]
        if isinstance(item, str | bytes | int | float | tuple | list | None) or hasattr(item, "__index__"):
            return Hit(check_id(item, ""), fallback)
        raise ValueError("it has neither an id nor a document")
    except Exception as error:
        message = str(error) if isinstance(error, TypeError | ValueError | KaratError) else describe_error(error)
        raise SystemFailed(hide_secrets(f"hit {rank} is {shorten(item)}: {message}")) from error


def _has_id(item: object) -> bool:
    """Whether an object has an attribute for an id or a document; texts, numbers and plain tuples have none."""
    return not isinstance(item, str | int) and _first(_getter(item), (*_ID, *_DOCUMENT)) is not None


def _getter(item: object) -> Callable[[str], Any]:
    """Return a function from a name to the value of that key or attribute; None if there is none."""
    if isinstance(item, Mapping):
        return item.get

    def get(name: str) -> Any:
        value = getattr(item, name, None)
        return None if callable(value) else value  # a method is not a field

    return get


def _first(get: Callable[[str], Any], names: Iterable[str]) -> Any:
    return next((value for name in names if (value := get(name)) is not None), None)


def _from_record(get: Callable[[str], Any], fallback: float) -> Hit:
    """Read a record by karat's own names and by those that retrievers commonly use."""
    values = {name: value for name in _FIELDS if (value := get(name)) is not None}
    document = _first(get, _DOCUMENT)
    if document is not None:
        inner = None if isinstance(document, str) else _getter(document)("id")
        document = values["document"] = check_id(document if inner is None else inner, "")
    own = _first(get, _ID)
    if own is None and document is None:
        raise ValueError("it has neither an id nor a document")
    values["id"] = document if own is None else check_id(own, "")
    scores = {stage: value for stage, name in _SCORES.items() if (value := get(name)) is not None}
    values.setdefault("score", next(iter(scores.values()), fallback))
    if scores.keys() - {"similarity"}:
        values["stages"] = {**scores, **values.get("stages", {})}
    if "locator" in values and not isinstance(values["locator"], str):
        values["locator"] = json.dumps(values["locator"], ensure_ascii=False, default=str)
    if (owner := _first(get, _TENANT)) is not None:
        values["tenant"] = str(owner)
    span = _first(get, _SPAN)
    values["span"] = span if span is None or isinstance(span, Span) else Span(*map(int, span))
    values["content"] = next((text for name in _CONTENT if isinstance(text := get(name), str)), "")
    channels = values.get("channels") or {}
    if not isinstance(channels, Mapping):
        channels = {str(name): Place(0, 0.0) for name in channels}
    return Hit(**{**values, "channels": channels})


def _check(hit: Hit) -> Hit:
    """Return a hit with plain text and plain finite numbers, whichever library its values come from."""
    if _is_plain(hit):
        return hit
    for name in _TEXTS:
        if not isinstance(text := getattr(hit, name), str):
            raise TypeError(f"{name} {shorten(text)} is not text")
    if hit.span is not None and not isinstance(hit.span, Span):
        raise TypeError(f"span {shorten(hit.span)} is not a Span")
    return replace(
        hit,
        id=check_id(hit.id, ""),
        score=_number(hit.score, "score"),
        span=None if hit.span is None else Span(index(hit.span.start), index(hit.span.end)),
        channels={str(name): _place(place, str(name)) for name, place in hit.channels.items()},
        stages={str(name): _number(value, f"stage {shorten(name)}: score") for name, value in hit.stages.items()},
    )


def _is_plain(hit: Hit) -> bool:
    """Whether a hit can stay as it is, as nearly all can: the full check takes three times as long."""
    texts = (hit.id, hit.document, hit.section, hit.block, hit.type, hit.content, hit.source_hash, hit.tenant)
    return (
        set(map(type, (*texts, hit.locator, *hit.channels, *hit.stages))) == _TEXT
        and hit.id.isascii()
        and hit.id != ""
        and (hit.span is None or (type(hit.span) is Span and type(hit.span.start) is type(hit.span.end) is int))
        and all(type(place) is Place and type(place.rank) is int for place in hit.channels.values())
        and all(
            type(number) is float and math.isfinite(number)
            for number in (hit.score, *hit.stages.values(), *(place.score for place in hit.channels.values()))
        )
    )


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} {shorten(value)} is not a number")
    if not math.isfinite(number := float(value)):
        raise ValueError(f"{name} {number} is not finite")
    return number


def _place(value: Any, channel: str) -> Place:
    """Read a place, a mapping of rank and score, or a pair of both."""
    if isinstance(value, Mapping):
        value = value.get("rank", 0), value.get("score", 0.0)
    rank, score = (value.rank, value.score) if isinstance(value, Place) else value
    return Place(int(rank), _number(score, f"channel {shorten(channel)}: score"))
