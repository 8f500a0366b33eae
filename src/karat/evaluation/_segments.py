"""Scores of a part of the queries: by what they are, or by what answers them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from karat.core import Document, GoldenSet, InputError, Scores, Target
from karat.text import Outline, canonical, outline, resolve, section_of_block

FIELDS = ("category", "type", "intent", "tier", "block")
_BLOCK_TYPES = {"p": "prose", "c": "code", "t": "table", "f": "figure"}


def members(golden: GoldenSet, name: str) -> dict[str, list[str]]:
    """Give the queries with each value of a field."""
    found: dict[str, list[str]] = {}
    for query, values in _values(golden, name).items():
        for value in values:
            found.setdefault(value, []).append(query)
    return {value: found[value] for value in sorted(found)}


def groups(golden: GoldenSet, fields: Iterable[str] = FIELDS) -> dict[tuple[str, str], list[str]]:
    """Give the queries of every field and value."""
    return {(name, value): queries for name in fields for value, queries in members(golden, name).items()}


def segments(golden: GoldenSet, scores: Scores, name: str) -> dict[str, Scores]:
    """Give the scores of the queries with each value of a field; one value is no grouping."""
    found = members(golden, name)
    return {value: scores.select(queries) for value, queries in found.items()} if len(found) > 1 else {}


def _values(golden: GoldenSet, name: str) -> dict[str, set[str]]:
    """Return the values of a field by query: its own, or the tiers and block types of its relevant targets."""
    if name in ("category", "type", "intent"):
        return {query.id: {value} for query in golden.queries if (value := getattr(query, name))}
    values: dict[str, set[str]] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant:
            continue
        document = golden.document_by_id.get(target.document)
        if name == "tier" and document is not None and document.tier:
            values.setdefault(query, set()).add(document.tier)
        elif name == "block" and (types := _block_types(target, document)):
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
    """Return the outline of a text, cached because many judgments point into one document."""
    return outline(canonical(text))
