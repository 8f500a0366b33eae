"""What a golden set lost on its way into another format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from karat.core import GoldenSet, Target

_SCALE = ("grades", "relevant", "normaliser")
_WORDS = ("version", "description", "created", "classes", "gate")
_EVIDENCE = ("source", "annotator", "confidence", "date", "channels")
_EMPTY: tuple[Any, ...] = ("", None, (), {})


def losses(before: GoldenSet, after: GoldenSet, format: str) -> Iterator[str]:
    """Compare a set with what was read back, and say what is gone and how much of it.

    >>> from karat.core import Query
    >>> one = GoldenSet(version="1.0.0", queries=(Query(id="q", text="?", category="a"),))
    >>> list(losses(one, GoldenSet(queries=(Query(id="q", text="?"),)), "x"))
    ['x cannot hold version', 'x cannot hold category of 1 queries']
    """
    hold = f"{format} cannot hold"
    for name in _WORDS + _SCALE:
        old, new = getattr(before, name), getattr(after, name)
        if old != new and (name in _SCALE or old not in _EMPTY):
            yield f"{hold} {name}"
    for things, old_ones, new_ones in (
        ("documents", before.documents, after.documents),
        ("queries", before.queries, after.queries),
    ):
        for text in _things(old_ones, {thing.id: thing for thing in new_ones}, things):
            yield f"{hold} {text}"
    for text in _judgments(before, after):
        yield f"{hold} {text}"


def _things(old: Iterable[Any], new: dict[str, Any], things: str) -> Iterator[str]:
    """Count the things that are gone, and of the others the fields that are."""
    gone, changed = 0, Counter[str]()
    for thing in old:
        other = new.get(thing.id)
        if other is None:
            gone += 1
        elif other != thing:
            changed.update(
                field.name
                for field in fields(thing)
                if field.name != "path"  # where a text lies is no content
                and getattr(thing, field.name) not in _EMPTY
                and getattr(thing, field.name) != getattr(other, field.name)
            )
    if gone:
        yield f"{gone:,} {things}"
    for name, count in changed.items():
        yield f"{name.replace('_', ' ')} of {count:,} {things}"


def _judgments(before: GoldenSet, after: GoldenSet) -> Iterator[str]:
    old, new = before.decided, after.decided
    gone, regraded = Counter[str](), 0
    for (query, target), grade in old.items():
        other = new.get((query, target))
        if other is None:
            gone.update(_parts(target) or [""])
        elif other != grade:
            regraded += 1
    for part, count in gone.items():
        yield f"{part} of {count:,} judgments" if part else f"{count:,} judgments"
    if regraded:
        yield f"the grade of {regraded:,} judgments"
    for name in _EVIDENCE:
        missing = _said(before, name) - _said(after, name)
        if missing > 0:
            yield f"{name} of {missing:,} judgments"


def _parts(target: Target) -> list[str]:
    return [name for name in ("section", "block", "span") if getattr(target, name) not in _EMPTY]


def _said(golden: GoldenSet, name: str) -> int:
    """Count the judgments in which somebody filled in a field."""
    return sum(getattr(judgment, name) not in (*_EMPTY, "manual") for judgment in golden.judgments)
