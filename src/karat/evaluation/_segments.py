"""Segments of the queries, by their own fields or by the documents that answer them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from karat.core import Document, GoldenSet, InputError, Target
from karat.text import Outline, canonical, outline, resolve, section_of_block

FIELDS = ("category", "type", "intent", "tier", "block")
_BLOCK_TYPES = {"p": "prose", "c": "code", "t": "table", "f": "figure"}


def segment_queries(golden: GoldenSet, fields: Iterable[str] = FIELDS) -> dict[tuple[str, str], list[str]]:
    """Return the queries of each segment; the values of a field are in alphabetical order.

    >>> from karat.core import Query
    >>> golden = GoldenSet(queries=(Query(id="q1", text="?", category="spa"), Query(id="q2", text="?", category="bar")))
    >>> segment_queries(golden)
    {('category', 'bar'): ['q2'], ('category', 'spa'): ['q1']}
    """
    segments: dict[tuple[str, str], list[str]] = {}
    for field in fields:
        queries: dict[str, list[str]] = {}
        for query, values in _values(golden, field).items():
            for value in values:
                queries.setdefault(value, []).append(query)
        segments |= {(field, value): queries[value] for value in sorted(queries)}
    return segments


def _values(golden: GoldenSet, field: str) -> dict[str, set[str]]:
    """Return the values of a field by query: its own, or the tiers and block types of its relevant targets."""
    if field in ("category", "type", "intent"):
        return {query.id: {value} for query in golden.queries if (value := getattr(query, field))}
    values: dict[str, set[str]] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant:
            continue
        document = golden.document_by_id.get(target.document)
        if field == "tier" and document is not None and document.tier:
            values.setdefault(query, set()).add(document.tier)
        elif field == "block" and (types := _block_types(target, document)):
            values.setdefault(query, set()).update(types)
    return values


def _block_types(target: Target, document: Document | None) -> set[str]:
    """Return the types of the blocks of a target, or none for a whole document or a target that is not in its text.

    Without the text of the document, the letter in the id of a block tells its type.
    """
    try:
        if document is None or not document.text:
            section = section_of_block(target.block) if target.block else ""
            return {_BLOCK_TYPES[target.block[len(section) + 1]]} if section else set()
        parts = _outline(document.text)
        if target.block:
            return {parts.block(target.block).type}
        span = resolve(parts, section=target.section) if target.section and target.span is None else target.span
        return set() if span is None else {block.type for block in parts.at(span)}
    except InputError:  # an id that the text does not have, which the linter reports
        return set()


@lru_cache(maxsize=1024)
def _outline(text: str) -> Outline:
    """Return the outline of a text; cached, because many judgments refer to the same document."""
    return outline(canonical(text))
