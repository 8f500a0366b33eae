"""Scores of a part of the queries: by what they are, or by what answers them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from karat.core import GoldenSet, Scores
from karat.text import Outline, canonical, outline

FIELDS = ("category", "type", "intent", "tier", "block")


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
    """Give each query its values of a field: its own, or the tiers and block types of what answers it."""
    if name in ("category", "type", "intent"):
        return {query.id: {value} for query in golden.queries if (value := getattr(query, name))}
    found: dict[str, set[str]] = {}
    for (query, target), grade in golden.decided.items():
        if grade < golden.relevant or (there := golden.document_by_id.get(target.document)) is None:
            continue
        if name == "tier" and there.tier:
            found.setdefault(query, set()).add(there.tier)
        elif name == "block" and target.span is not None:
            blocks = _outline(there.text).at(target.span)
            found.setdefault(query, set()).update(block.type for block in blocks)
    return found


@lru_cache(maxsize=1024)
def _outline(text: str) -> Outline:
    """Keep outlines: many judgments point into one document."""
    return outline(canonical(text))
