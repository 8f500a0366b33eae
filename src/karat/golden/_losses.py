"""What a golden set lost when it was converted to another format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from karat.core import GoldenSet, Target

_SCALE = ("grades", "relevant", "normaliser")
_HEAD = ("version", "description", "created", "classes", "gate")
_EVIDENCE = ("source", "annotator", "confidence", "date", "channels", "quote")
_EMPTY: tuple[Any, ...] = ("", None, (), {})


def describe_losses(before: GoldenSet, after: GoldenSet, format: str) -> Iterator[str]:
    """Compare a set with what was read back, and yield a sentence for each kind of loss.

    >>> from karat.core import Query
    >>> before = GoldenSet(version="1.0.0", queries=(Query(id="q", text="?", category="a"),))
    >>> list(describe_losses(before, GoldenSet(queries=(Query(id="q", text="?"),)), "x"))
    ['x cannot hold version', 'x cannot hold category of 1 queries']
    """
    prefix = f"{format} cannot hold"
    for name in _HEAD + _SCALE:
        old, new = getattr(before, name), getattr(after, name)
        if old != new and (name in _SCALE or old not in _EMPTY):
            yield f"{prefix} {name}"
    for kind, old_records, new_records in (
        ("documents", before.documents, after.documents),
        ("queries", before.queries, after.queries),
    ):
        for loss in _compare_records(old_records, {record.id: record for record in new_records}, kind):
            yield f"{prefix} {loss}"
    for loss in _compare_judgments(before, after):
        yield f"{prefix} {loss}"


def _compare_records(old: Iterable[Any], new: dict[str, Any], kind: str) -> Iterator[str]:
    """Count the records that are gone, and the fields that changed in the others."""
    gone, changed = 0, Counter[str]()
    for record in old:
        other = new.get(record.id)
        if other is None:
            gone += 1
        elif other != record:
            changed.update(
                field.name
                for field in fields(record)
                if field.name != "path"  # the place of a text is not content
                and getattr(record, field.name) not in _EMPTY
                and getattr(record, field.name) != getattr(other, field.name)
            )
    if gone:
        yield f"{gone:,} {kind}"
    for name, count in changed.items():
        yield f"{name.replace('_', ' ')} of {count:,} {kind}"


def _compare_judgments(before: GoldenSet, after: GoldenSet) -> Iterator[str]:
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
        missing = _count_filled(before, name) - _count_filled(after, name)
        if missing > 0:
            yield f"{name} of {missing:,} judgments"


def _parts(target: Target) -> list[str]:
    return [name for name in ("section", "block", "span") if getattr(target, name) not in _EMPTY]


def _count_filled(golden: GoldenSet, name: str) -> int:
    """Return the number of judgments in which a field is filled in."""
    return sum(getattr(judgment, name) not in (*_EMPTY, "manual") for judgment in golden.judgments)
