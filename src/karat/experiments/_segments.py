"""Scores of a part of the queries: by what they are, or by what answers them."""

from __future__ import annotations

from functools import lru_cache

from karat.core import GoldenSet, Scores
from karat.golden import canonical, outline
from karat.golden.text import Outline

FIELDS = ("category", "type", "intent", "tier", "block")


def segments(golden: GoldenSet, scores: Scores, name: str) -> dict[str, Scores]:
    """Give the scores of the queries with each value of a field; one value is no grouping."""
    members: dict[str, list[str]] = {}
    for query, values in _values(golden, name).items():
        for value in values:
            members.setdefault(value, []).append(query)
    return {value: scores.select(members[value]) for value in sorted(members)} if len(members) > 1 else {}


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
