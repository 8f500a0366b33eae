"""Reading what a system answers: the text, what it cites, whether it refused, and what that cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from karat.core import Answer, Citation, Hit, KaratError, Span, SystemFailed, check_id, document_of, is_blank, shorten
from karat.net import hide_secrets
from karat.systems._recording import read_telemetry

_FIELDS = ("text", "answer", "citations", "hits", "refused", "tokens", "cost", "telemetry")
_PARTS = ("id", "document", "span", "offsets", "section", "block")
_MOST = 1000  # citations
_LARGEST = 10**15
"""No offset, number of tokens or cost is larger; run files refuse what is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """An answer whose parts are checked, but for the hits."""

    text: str
    citations: tuple[Citation, ...]
    refused: bool
    telemetry: Mapping[str, Any] = field(default_factory=dict)
    """Its tokens and cost, and what else the system recorded."""


def open_answer(result: object) -> Answer | None:
    """Return an answer, which may be a mapping with its fields; None for anything else, such as a list of hits.

    >>> open_answer({"answer": "Free.", "hits": ["wifi"]}).text
    'Free.'
    """
    if isinstance(result, Answer):
        return result
    if not isinstance(result, Mapping) or not ({"text", "answer", "refused"} & result.keys()):
        return None
    unknown = [key for key in result if key not in _FIELDS]
    if unknown or ("text" in result and "answer" in result):
        raise SystemFailed(f"the system returned an answer with {shorten(unknown or 'both text and answer')}")
    fields = {"text" if name == "answer" else str(name): value for name, value in result.items()}
    return Answer(**fields)


def read_answer(answer: Answer, hits: Sequence[Hit]) -> ReadAnswer:
    """Return an answer with all its parts checked; raise SystemFailed if one is not what it should be.

    >>> read_answer(Answer("Free.", [1]), [Hit("wifi:chunk:3", 0.8, span=Span(0, 9))]).citations
    (Citation(id='wifi:chunk:3', document='wifi', span=Span(start=0, end=9), section='', block=''),)
    """
    text, refused = cast("Any", answer.text), cast("Any", answer.refused)
    if not isinstance(text, str) or not isinstance(refused, bool):
        raise SystemFailed(f"the system answered {shorten(answer.text)}, refused {shorten(answer.refused)}")
    _check_text(text)
    if is_blank(text) and not refused:
        raise SystemFailed("the system answered with an empty text, and did not refuse; a refusal has refused=True")
    items = answer.citations
    if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
        raise SystemFailed(f"the system cites {shorten(items)}, not a list")
    listed = list(items)
    if len(listed) > _MOST:
        raise SystemFailed(f"the system cites {len(listed)} things; {_MOST} are the most that an answer may")
    by_id = {hit.id: hit for hit in reversed(hits)}
    return ReadAnswer(
        text=hide_secrets(answer.text),
        citations=tuple(_read_citation(item, number, hits, by_id) for number, item in enumerate(listed, 1)),
        refused=answer.refused,
        telemetry={**read_telemetry(answer), **_read_cost(answer)},
    )


def _read_citation(item: object, number: int, hits: Sequence[Hit], by_id: Mapping[str, Hit]) -> Citation:
    try:
        if isinstance(item, Citation):
            return _check_citation(item)
        if isinstance(item, Hit):
            return _cite(item)
        if isinstance(item, int) and not isinstance(item, bool):
            if not 1 <= item <= _LARGEST:  # a system that counts from 0 cites a neighbour each time
                raise ValueError("ranks begin at 1" if item < 1 else "no list has so many hits")
            return _cite(hits[item - 1]) if item <= len(hits) else _cite_nothing(item, hits)
        if isinstance(item, str):
            return _cite(by_id[item]) if item in by_id else Citation(check_id(item, ""))
        if isinstance(item, Mapping):
            return _read_record(item, by_id)
        raise TypeError("write the id of a hit, its rank, or a Citation")
    except (TypeError, ValueError, KeyError, KaratError) as error:
        raise SystemFailed(hide_secrets(f"citation {number} is {shorten(item)}: {error}")) from None


def _check_text(text: str) -> None:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError as error:
        character = shorten(text[error.start])
        raise SystemFailed(
            f"the system's answer is not valid Unicode: character {error.start + 1} is {character}"
        ) from None


def _check_citation(citation: Citation) -> Citation:
    """Return a citation that was made elsewhere, with its parts checked; its span may be a pair of numbers."""
    for name in ("document", "section", "block"):
        if not isinstance(text := getattr(citation, name), str):
            raise TypeError(f"{name} {shorten(text)} is not text")
    span = None if citation.span is None else _read_span(citation.span)
    return replace(citation, id=check_id(citation.id, ""), span=span)


def _cite(hit: Hit) -> Citation:
    if hit.span is not None and max(abs(hit.span.start), abs(hit.span.end)) > _LARGEST:
        raise ValueError(f"no text has {shorten(hit.span)}")
    return Citation(hit.id, hit.document, hit.span, hit.section, hit.block)


def _cite_nothing(rank: int, hits: Sequence[Hit]) -> Citation:
    """Return the citation of a rank that no hit has, which models invent: it counts as wrong, and matches nothing."""
    name = f"rank {rank} of {len(hits)}"
    return Citation(name, name)


def _read_record(record: Mapping[Any, Any], by_id: Mapping[str, Hit]) -> Citation:
    if unknown := [key for key in record if key not in _PARTS]:
        raise ValueError(f"unknown field {shorten(unknown[0])}")
    id_ = check_id(record.get("id") or record.get("document"), "")
    texts = {name: str(record.get(name) or "") for name in ("document", "section", "block")}
    bytes_ = record.get("span", record.get("offsets"))
    span = None if bytes_ is None else _read_span(bytes_)
    if id_ in by_id and span is None and not (texts["section"] or texts["block"]):
        return _cite(by_id[id_])
    document = texts["document"] or (by_id[id_].document if id_ in by_id else document_of(id_))
    return Citation(id_, document, span, texts["section"], texts["block"])


def _read_span(value: Any) -> Span:
    start, end = (value.start, value.end) if isinstance(value, Span) else value
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= _LARGEST:
        raise ValueError(f"{shorten(value)} is no range of bytes")
    return Span(start, end)


def _read_cost(answer: Answer) -> dict[str, Any]:
    """Return the tokens and the cost of an answer, as a trace keeps them."""
    facts: dict[str, Any] = {}
    if answer.tokens:
        try:
            tokens = {check_id(name, ""): int(count) for name, count in answer.tokens.items()}
            if not all(0 <= count <= _LARGEST for count in tokens.values()):
                raise ValueError
            facts["tokens"] = tokens
        except (AttributeError, TypeError, ValueError, OverflowError, KaratError):
            raise SystemFailed(f"the system reports {shorten(answer.tokens)} as its tokens") from None
    cost = cast("Any", answer.cost)
    if cost is not None:
        if not isinstance(cost, int | float) or not 0 <= cost <= _LARGEST:
            raise SystemFailed(f"the system reports {shorten(cost)} as its cost")
        facts["cost"] = float(cost)
    return facts
