"""Segments of the queries: by their own fields, or by the documents that answer them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from karat.core import GoldenSet
from karat.text import Outline, canonical, outline

FIELDS = ("category", "type", "intent", "tier", "block")


def segment_queries(golden: GoldenSet, fields: Iterable[str] = FIELDS) -> dict[tuple[str, str], list[str]]:
    """Return the queries of every field and value, the values of a field in alphabetical order."""
    segments: dict[tuple[str, str], list[str]] = {}
    for field in fields:
        queries: dict[str, list[str]] = {}
        for query, values in _values(golden, field).items():
            for value in values:
                queries.setdefault(value, []).append(query)
        segments |= {(field, value): queries[value] for value in sorted(queries)}
    return segments


def _values(golden: GoldenSet, field: str) -> dict[str, set[str]]:
    """Return each query's values of a field: its own, or the tiers and block types of the gold."""
    if field in ("category", "type", "intent"):
        return {query.id: {value} for query in golden.queries if (value := getattr(query, field))}
    values: dict[str, set[str]] = {}
    for (query, target), grade in golden.decided.items():
        document = golden.document_by_id.get(target.document)
        if grade < golden.relevant or document is None:
            continue
        if field == "tier" and document.tier:
            values.setdefault(query, set()).add(document.tier)
        elif field == "block" and target.span is not None:
            blocks = _outline(document.text).at(target.span)
            values.setdefault(query, set()).update(block.type for block in blocks)
    return values


@lru_cache(maxsize=1024)
def _outline(text: str) -> Outline:
    """Return the outline of a text; cached, because many judgments point into one document."""
    return outline(canonical(text))
