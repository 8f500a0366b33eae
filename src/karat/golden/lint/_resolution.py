"""The resolution: the smallest drop of a mean that a set can tell from chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from karat.core import GoldenSet, Query
from karat.stats import detectable

SPREADS = (0.15, 0.25, 0.35)
"""Standard deviations of per-query differences: two systems much alike, a usual change, and two different systems."""
POWER, ALPHA = 0.8, 0.05
LEAST = 2  # fewer have no spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What some queries can see."""

    name: str
    """The category, empty for those that have none; or ``all``."""
    queries: int
    """Those that count: with a relevant document, and each question once."""
    two_sided: Mapping[float, float | None]
    """By the standard deviation of per-query differences, the smallest change that is found with 80 % power; None where
    there are fewer than two queries."""
    one_sided: Mapping[float, float | None]
    """The smallest drop, when only drops are looked for, as a gate does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a set can see, over all queries and in each category."""

    all: Seen
    categories: tuple[Seen, ...] = ()
    """Empty where no query has a category."""
    power: float = POWER
    alpha: float = ALPHA

    def to_dict(self) -> dict[str, Any]:
        """Give plain data."""
        return {
            "power": self.power,
            "alpha": self.alpha,
            "all": _plain(self.all),
            "categories": {seen.name: _plain(seen) for seen in self.categories},
        }


def resolution(golden: GoldenSet, *, sd: float | None = None) -> Resolution:
    """Give the smallest drop of a mean that a set can detect, over all queries and in each category.

    ``sd`` is the standard deviation of the differences between two systems, query by query, where it is known;
    otherwise there are three guesses. A query counts when it has a relevant document. Its paraphrases do not make it
    more than one, and neither does another query with the same words: they succeed and fail together.

    >>> from karat.core import Judgment, Target
    >>> wifi = Target(document="wifi")
    >>> golden = GoldenSet(queries=tuple(Query(id=f"q{i}", text=f"question {i}") for i in range(280)),
    ...                    judgments=tuple(Judgment(query=f"q{i}", target=wifi, grade=3) for i in range(280)))
    >>> {sd: round(drop, 3) for sd, drop in resolution(golden).all.two_sided.items()}
    {0.15: 0.025, 0.25: 0.042, 0.35: 0.059}
    """
    spreads = SPREADS if sd is None else (sd,)
    answerable = {query for (query, _), grade in golden.decided.items() if grade >= golden.relevant}
    counted = [query for query in golden.queries if query.id in answerable]
    names = dict.fromkeys(query.category for query in golden.queries)
    grouped: dict[str, list[Query]] = {name: [] for name in names if any(names)}
    for query in counted if grouped else ():
        grouped[query.category].append(query)
    return Resolution(
        all=_seen("all", counted, spreads),
        categories=tuple(_seen(name, members, spreads) for name, members in grouped.items()),
    )


def _seen(name: str, queries: Iterable[Query], spreads: tuple[float, ...]) -> Seen:
    n = _questions(queries)
    drops = {
        sides: {sd: detectable(n, sd, power=POWER, alpha=ALPHA, sides=sides) if n >= LEAST else None for sd in spreads}
        for sides in (1, 2)
    }
    return Seen(name=name, queries=n, two_sided=drops[2], one_sided=drops[1])


def _questions(queries: Iterable[Query]) -> int:
    """Count the queries, those once that share their words or a paraphrase."""
    first: dict[str, int] = {}
    parent: list[int] = []

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for i, query in enumerate(queries):
        parent.append(i)
        for text in _wordings(query):
            parent[root(first.setdefault(text, i))] = root(i)
    return sum(1 for i, above in enumerate(parent) if i == above)


def _wordings(query: Query) -> Iterator[str]:
    for text in (query.text, *query.paraphrases):
        if folded := " ".join(text.casefold().split()):
            yield folded


def _plain(seen: Seen) -> dict[str, Any]:
    return {
        "queries": seen.queries,
        "two_sided": {str(sd): drop for sd, drop in seen.two_sided.items()},
        "one_sided": {str(sd): drop for sd, drop in seen.one_sided.items()},
    }
