"""The resolution: the smallest drop of a mean that a set can tell from chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from karat.core import GoldenSet, Query
from karat.stats import detectable

if TYPE_CHECKING:
    from karat.schema import GoldenDetectable, GoldenResolution

SPREADS = (0.15, 0.25, 0.35)
"""Standard deviations of per-query differences: two systems much alike, a usual change, and two different systems."""
POWER, ALPHA = 0.8, 0.05
LEAST = 2  # fewer have no spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The smallest change that some queries can tell from chance."""

    name: str
    """The category, empty for queries that have none; or ``all``."""
    queries: int
    """How many count: those with a relevant document, and each question once."""
    two_sided: Mapping[float, float | None]
    """The smallest change that is found with 80 % power, by the standard deviation of per-query differences; None where
    there are fewer than two queries."""
    one_sided: Mapping[float, float | None]
    """The smallest drop where only drops are tested for, as a gate does."""

    def document(self) -> GoldenDetectable:
        """Return it as a JSON document."""
        from karat.schema import GoldenDetectable

        return GoldenDetectable(
            queries=self.queries,
            two_sided={str(sd): drop for sd, drop in self.two_sided.items()},
            one_sided={str(sd): drop for sd, drop in self.one_sided.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The smallest change that a set can tell from chance, over all queries and in each category."""

    all: Detectable
    categories: tuple[Detectable, ...] = ()
    """Empty where no query has a category."""
    power: float = POWER
    alpha: float = ALPHA

    def document(self) -> GoldenResolution:
        """Return it as a JSON document."""
        from karat.schema import GoldenResolution

        return GoldenResolution(
            power=self.power,
            alpha=self.alpha,
            all=self.all.document(),
            categories={category.name: category.document() for category in self.categories},
        )


def resolution(golden: GoldenSet, *, sd: float | None = None) -> Resolution:
    """Return the smallest drop of a mean that a set can detect, over all queries and in each category.

    ``sd`` is the standard deviation of the differences between two systems, query by query, where it is known;
    otherwise there are three guesses. A query counts when it has a relevant document. Its paraphrases do not count
    again, nor does another query with the same words: they succeed and fail together.

    >>> from karat.core import Judgment, Target
    >>> wifi = Target(document="wifi")
    >>> golden = GoldenSet(queries=tuple(Query(id=f"q{i}", text=f"question {i}") for i in range(280)),
    ...                    judgments=tuple(Judgment(query=f"q{i}", target=wifi, grade=3) for i in range(280)))
    >>> {sd: round(drop, 3) for sd, drop in resolution(golden).all.two_sided.items()}
    {0.15: 0.025, 0.25: 0.042, 0.35: 0.059}
    """
    spreads = SPREADS if sd is None else (sd,)
    answerable = golden.findable
    scored = [query for query in golden.queries if query.answerable and query.id in answerable]
    names = dict.fromkeys(query.category for query in golden.queries)
    grouped: dict[str, list[Query]] = {name: [] for name in names if any(names)}
    for query in scored if grouped else ():
        grouped[query.category].append(query)
    return Resolution(
        all=_detectable("all", scored, spreads),
        categories=tuple(_detectable(name, members, spreads) for name, members in grouped.items()),
    )


def _detectable(name: str, queries: Iterable[Query], spreads: tuple[float, ...]) -> Detectable:
    n = _questions(queries)
    drops = {
        sides: {sd: detectable(n, sd, power=POWER, alpha=ALPHA, sides=sides) if n >= LEAST else None for sd in spreads}
        for sides in (1, 2)
    }
    return Detectable(name=name, queries=n, two_sided=drops[2], one_sided=drops[1])


def _questions(queries: Iterable[Query]) -> int:
    """Return the number of queries; those that share their words or a paraphrase count once."""
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
