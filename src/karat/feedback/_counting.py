"""Counts by name that add up over parts, and the first of many by an order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
Counts = dict[str, int]
"""How often, by name."""


def add_counts(counts: Counts, others: Mapping[str, int]) -> None:
    """Add counts to others."""
    for name, count in others.items():
        counts[name] = counts.get(name, 0) + count


def count(counts: Counts, names: Iterable[str]) -> None:
    """Count each of some names once more."""
    for name in names:
        counts[name] = counts.get(name, 0) + 1


def pick_first(rows: list[T], most: int, key: Callable[[T], Any]) -> list[T]:
    """Return the first ``most`` rows, in the order of a key."""
    return sorted(rows, key=key)[:most]


def trim(rows: list[T], most: int, key: Callable[[T], Any]) -> None:
    """Leave only the first ``most`` rows of a list to which rows are added; now and then, so that each costs little."""
    if len(rows) > 2 * most + 100:
        rows[:] = pick_first(rows, most, key)


def encode(value: object) -> bytes:
    """Return a struct, with sums inside it, as bytes."""
    return msgspec.msgpack.encode(value, enc_hook=lambda sums: sums.to_plain())


def decode(data: bytes, kind: type[T]) -> T:
    """Return the struct that :func:`encode` wrote."""
    return msgspec.msgpack.decode(data, type=kind, dec_hook=lambda own, plain: own.from_plain(plain))
