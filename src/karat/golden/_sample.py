"""A sample of a golden set."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from karat.core import GoldenSet, Query, UsageError

FIELDS = ("category", "type", "intent")


def sample(golden: GoldenSet, n: int, *, stratify: str | None = None, seed: int = 0) -> GoldenSet:
    """Return a set with ``n`` of the queries and their judgments. All documents stay: they are what is searched.

    With ``stratify`` (category, type or intent) each group keeps its share, by largest remainders, and no group whose
    share is one place or more vanishes. The same seed draws the same queries, whatever their order in the set.

    >>> queries = tuple(Query(id=f"q{i}", text="?", category="ab"[i > 7]) for i in range(10))
    >>> drawn = sample(GoldenSet(queries=queries), 5, stratify="category", seed=1).queries
    >>> [query.category for query in drawn]
    ['a', 'a', 'a', 'a', 'b']
    """
    if not 1 <= n <= len(golden.queries):
        raise UsageError(f"n={n}; the set has {len(golden.queries):,} queries")
    if stratify is not None and stratify not in FIELDS:
        raise UsageError(f"stratify={stratify!r}; choose from {', '.join(FIELDS)}")
    groups: dict[str, list[Query]] = {}
    for query in sorted(golden.queries, key=lambda query: query.id):
        groups.setdefault(getattr(query, stratify) if stratify else "", []).append(query)
    drawn: set[str] = set()
    for name, places in _places({name: len(group) for name, group in groups.items()}, n).items():
        drawn |= _draw([query.id for query in groups[name]], places, f"{seed} {name}")
    return golden.restrict(drawn)


def _places(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Return how many of n places each group gets: in proportion, the rest to the largest remainders."""
    total = sum(sizes.values())
    places = {name: size * n // total for name, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda name: (-(sizes[name] * n % total), name))
    for name in by_remainder[: n - sum(places.values())]:
        places[name] += 1
    return places


def _draw(ids: list[str], places: int, seed: str) -> set[str]:
    """Return some ids, drawn with ``random()`` only, whose sequence Python promises never to change."""
    draw = Random(seed)  # noqa: S311 (no secret)
    return set(sorted(ids, key=lambda _: draw.random())[:places])
