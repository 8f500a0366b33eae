"""A sample of a golden set."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from random import Random

from karat.core import GoldenSet, Query, UsageError, count_things

FIELDS = ("category", "type", "intent")


def sample(golden: GoldenSet, n: int, *, stratify: str | None = None, seed: int = 0) -> GoldenSet:
    """Return a set with ``n`` of the queries and their judgments. All documents stay: they are what is searched.
    Only memories that none of the drawn queries has in its session are left out.

    With ``stratify`` (category, type or intent) each group keeps its share, by largest remainders, and no group whose
    share is one place or more vanishes. The same seed draws the same queries, whatever their order in the set.

    >>> queries = tuple(Query(id=f"q{i}", text="?", category="ab"[i > 7]) for i in range(10))
    >>> drawn = sample(GoldenSet(queries=queries), 5, stratify="category", seed=1).queries
    >>> [query.category for query in drawn]
    ['a', 'a', 'a', 'a', 'b']
    """
    if not 1 <= n <= len(golden.queries):
        raise UsageError(f"n={n}; the set has {count_things(len(golden.queries), 'query', 'queries')}")
    if stratify is not None and stratify not in FIELDS:
        raise UsageError(f"stratify={stratify!r}; choose from {', '.join(FIELDS)}")
    groups: dict[str, list[Query]] = {}
    for query in sorted(golden.queries, key=lambda query: query.id):
        groups.setdefault(getattr(query, stratify) if stratify else "", []).append(query)
    drawn: set[str] = set()
    for name, places in _places({name: len(group) for name, group in groups.items()}, n).items():
        drawn |= _draw([query.id for query in groups[name]], places, f"{seed} {name}")
    return restrict_queries(golden, drawn)


def restrict_queries(golden: GoldenSet, ids: Set[str]) -> GoldenSet:
    """Return a set with only some of the queries, and their judgments; see :func:`sample` about memories."""
    chosen = golden.restrict(ids)
    return _keep_memories(golden, chosen) if golden.memories else chosen


def _keep_memories(golden: GoldenSet, chosen: GoldenSet) -> GoldenSet:
    """Return a sample in which a turn also stores what the turns before it that were not drawn have stored.

    Memories of later turns are left out: as documents that nobody stores they would be there from the start, and what
    they supersede would be stale from the start.
    """
    order = {query.id: i for i, query in enumerate(golden.queries)}
    turns = sorted((query for query in golden.queries if query.session), key=lambda q: (_turn(q), order[q.id]))
    kept, waiting = {query.id: query for query in chosen.queries}, dict[str, list[str]]()
    for query in turns:
        assert query.session is not None
        stored = [*waiting.pop(query.session.id, ()), *query.session.remember]
        if query.id in kept:
            kept[query.id] = replace(query, session=replace(query.session, remember=tuple(dict.fromkeys(stored))))
        else:
            waiting[query.session.id] = stored
    sampled = replace(chosen, queries=tuple(kept[query.id] for query in chosen.queries))
    lost = golden.memories - sampled.memories
    return replace(
        sampled,
        documents=tuple(
            replace(document, superseded_by="") if document.superseded_by in lost else document
            for document in golden.documents
            if document.id not in lost
        ),
        judgments=tuple(judgment for judgment in chosen.judgments if judgment.target.document not in lost),
    )


def _turn(query: Query) -> int:
    return query.session.turn if query.session else 0


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
