"""Which live queries to take: failures first, then every intent by its share, and the most diverse for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from msgspec import Struct
from msgspec import field as default

from karat.feedback._counting import Counts, add_counts, count, pick_first, trim
from karat.feedback._gathering import LiveQuery
from karat.text import content

_FAILURES = 0.5
"""The share of places that queries which fail may take before all others."""


class Choice(Struct):
    """The queries from which a harvest takes some: as many of each kind as could be taken, and how many there are."""

    size: int
    seed: int
    failing: list[LiveQuery] = default(default_factory=list)
    failing_count: int = 0
    others: dict[str, dict[str, list[LiveQuery]]] = default(default_factory=dict)
    """By intent and outcome."""
    other_counts: dict[str, Counts] = default(default_factory=dict)
    counts: dict[str, Counts] = default(default_factory=dict)
    """All, by intent and outcome."""

    def add(self, live: LiveQuery) -> None:
        """Add a query."""
        count(self.counts.setdefault(live.intent, {}), [live.outcome])
        if live.is_failure:
            self.failing_count += 1
            self.failing.append(live)
            trim(self.failing, self.size, _order_failing)
        else:
            count(self.other_counts.setdefault(live.intent, {}), [live.outcome])
            own = self.others.setdefault(live.intent, {}).setdefault(live.outcome, [])
            own.append(live)
            trim(own, self.size, self._draw)

    def merge(self, other: Choice) -> None:
        """Add other queries, none of which is among these."""
        for counts, more in ((self.counts, other.counts), (self.other_counts, other.other_counts)):
            for intent, own in more.items():
                add_counts(counts.setdefault(intent, {}), own)
        self.failing_count += other.failing_count
        self.failing = pick_first(self.failing + other.failing, self.size, _order_failing)
        for intent, groups in other.others.items():
            mine = self.others.setdefault(intent, {})
            for outcome, queries in groups.items():
                mine[outcome] = pick_first(mine.get(outcome, []) + queries, self.size, self._draw)

    def choose(self) -> list[LiveQuery]:
        """Return up to ``size`` queries; see :func:`choose_queries`."""
        total = sum(sum(own.values()) for own in self.other_counts.values())
        first = min(self.failing_count, max(round(self.size * _FAILURES), self.size - total))
        drawn = [
            live
            for (intent, outcome), share in self._share(min(self.size - first, total), total).items()
            for live in pick_first(self.others[intent][outcome], share, self._draw)
        ]
        failing = pick_first(self.failing, first, _order_failing)
        return failing + sorted(drawn, key=lambda live: (-live.sessions, live.key))

    def _share(self, places: int, total: int) -> dict[tuple[str, str], int]:
        """Return how many places each group of the others gets: by its share, with the largest remainders."""
        counts = {(i, outcome): n for i, own in self.other_counts.items() for outcome, n in own.items()}
        shares = {name: n * places // max(total, 1) for name, n in counts.items()}
        rest = sorted(counts, key=lambda name: (-(counts[name] * places % max(total, 1)), name))
        for name in rest[: places - sum(shares.values())]:
            shares[name] += 1
        return shares

    def _draw(self, live: LiveQuery) -> bytes:
        """Return a query's place in the order by chance, which does not depend on what else there is."""
        return draw_place(self.seed, live.key)


def draw_place(seed: int, key: str) -> bytes:
    """Return the place of a query in an order by chance."""
    return blake2b(f"{seed} {key}".encode(), digest_size=16).digest()


def _order_failing(live: LiveQuery) -> tuple[int, int, str]:
    return -live.sessions, -live.failures, live.key


def choose_queries(queries: Iterable[LiveQuery], size: int, *, seed: int = 0) -> list[LiveQuery]:
    """Return up to ``size`` queries. Those that fail come first, and those of most sessions first among them.

    Failures fill up to half of the places, and more if the others do not fill theirs. The others are drawn at random,
    each group of one intent and outcome in proportion to how many queries it has.
    """
    choice = Choice(size, seed)
    for live in queries:
        choice.add(live)
    return choice.choose()


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
