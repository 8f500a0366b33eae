"""Which live queries to take: failures first, then every intent by its share, and the most diverse for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random

from karat.feedback._gathering import LiveQuery
from karat.text import content

_FAILURES = 0.5
"""The share of places that queries which fail may take before all others."""


def choose_queries(queries: Sequence[LiveQuery], size: int, *, seed: int = 0) -> list[LiveQuery]:
    """Return up to ``size`` queries. Those that fail come first, and those of most sessions first among them.

    Failures fill up to half of the places, and more if the others do not fill theirs. The others are drawn at random,
    each group of one intent and outcome in proportion to how many queries it has.
    """
    failing = sorted((query for query in queries if query.is_failure), key=lambda q: (-q.sessions, -q.failures, q.key))
    others = [query for query in queries if not query.is_failure]
    first = min(len(failing), max(round(size * _FAILURES), size - len(others)))
    return failing[:first] + _draw(others, size - first, seed)


def _draw(queries: Iterable[LiveQuery], places: int, seed: int) -> list[LiveQuery]:
    """Return queries drawn at random, every group by its share (largest remainders), those of most sessions first."""
    groups: dict[tuple[str, str], list[LiveQuery]] = {}
    for query in sorted(queries, key=lambda query: query.key):
        groups.setdefault((query.intent, query.outcome), []).append(query)
    total = sum(map(len, groups.values()))
    places = min(places, total)
    if not places:
        return []
    shares = {name: len(group) * places // total for name, group in groups.items()}
    rest = sorted(groups, key=lambda name: (-(len(groups[name]) * places % total), name))
    for name in rest[: places - sum(shares.values())]:
        shares[name] += 1
    drawn: list[LiveQuery] = []
    for name, group in groups.items():
        draw = Random(f"{seed} {name}")  # noqa: S311 (no secret)
        drawn += sorted(group, key=lambda _: draw.random())[: shares[name]]
    return sorted(drawn, key=lambda query: (-query.sessions, query.key))


def choose_diverse(queries: Sequence[LiveQuery], count: int) -> list[LiveQuery]:
    """Return the ``count`` most diverse queries, in the order in which they were chosen; the first one stays first.

    Each next one is the farthest from all before it: by words (Jaccard's distance), and nearer by a tenth for every
    one of the same intent that was chosen, so that no intent is left out.

    Gonzalez, Clustering to minimize the maximum intercluster distance, Theoretical Computer Science 38, 1985.
    """
    if not queries or count < 1:
        return []
    subjects = [frozenset(content(query.text)) or frozenset([query.key]) for query in queries]
    chosen, taken = [0], {0}
    nearest = [_distance(subject, subjects[0]) for subject in subjects]
    intents = Counter([queries[0].intent])
    while len(chosen) < min(count, len(queries)):
        best = max(
            (place for place in range(len(queries)) if place not in taken),
            key=lambda place: (nearest[place] - 0.1 * intents[queries[place].intent], -place),
        )
        chosen.append(best)
        taken.add(best)
        intents[queries[best].intent] += 1
        nearest = [min(old, _distance(own, subjects[best])) for old, own in zip(nearest, subjects, strict=True)]
    return [queries[place] for place in chosen]


def _distance(first: frozenset[str], second: frozenset[str]) -> float:
    return 1 - len(first & second) / len(first | second)
