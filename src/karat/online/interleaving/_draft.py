"""Team-draft interleaving, and multileaving for more than two systems.

In each round every system, in an order that is drawn anew, adds its best document that is not in the list yet. So each
stands equally often at every rank, and what people click tells the systems apart whatever ranks they look at.

Radlinski, Kurup and Joachims, How does clickthrough data reflect retrieval quality?, CIKM 2008; Schuth and others,
Multileaved comparisons for fast online evaluation, CIKM 2014.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from karat.core import UsageError
from karat.online._hit_rows import NotHits, are_ids, to_id, to_text
from karat.online.flags import murmur3_32


@dataclass(frozen=True, slots=True, kw_only=True)
class Interleaved:
    """The list to show, and which system each document stands for."""

    systems: tuple[str, ...]
    documents: tuple[str, ...]
    teams: tuple[str | None, ...]
    """A system for each document; None for the first documents if all systems agree on them, which tell nothing."""

    def credit(self, chosen: Iterable[str]) -> dict[str, int]:
        """Return how many of the documents that somebody chose each system has in the list.

        A document counts once, however often it was chosen. What is not in the list counts for nobody.

        >>> shown = Interleaved(systems=("old", "new"), documents=("a", "b", "c"), teams=(None, "new", "old"))
        >>> shown.credit(["b", "a", "b"])
        {'old': 0, 'new': 1}
        """
        earned = dict.fromkeys(self.systems, 0)
        picks = set(chosen)
        for document, team in zip(self.documents, self.teams, strict=True):
            if team is not None and document in picks:
                earned[team] += 1
        return earned


def interleave(
    rankings: Mapping[str, Sequence[str]], k: int = 10, *, session: str, query: str, salt: str = ""
) -> Interleaved:
    """Return one list of at most k documents from the rankings of two or more systems.

    The same session and query get the same list again, in any process and whatever the order of ``rankings``; another
    ``salt``, such as the name of the trial, draws anew.

    >>> shown = interleave({"old": ["a", "b", "c"], "new": ["a", "d", "b"]}, session="s1", query="wifi")
    >>> shown.documents, shown.teams
    (('a', 'd', 'b', 'c'), (None, 'new', 'old', 'old'))
    """
    if len(rankings) < 2:
        raise UsageError("interleaving needs the rankings of at least two systems")
    if k < 1:
        raise UsageError(f"k={k} documents cannot be shown; use 1 or more")
    for ranking in rankings.values():
        _require_ids(ranking)
    systems = tuple(sorted(rankings))
    same = _agree([rankings[system] for system in systems])[:k]
    seed = murmur3_32("\0".join(map(to_text, (salt, session, query))).encode("utf-8", "surrogatepass"))
    drafted = islice(_draft(rankings, systems, same, random.Random(seed)), k - len(same))  # noqa: S311 (no secret)
    picks = [*((document, None) for document in same), *drafted]
    documents, teams = zip(*picks, strict=True) if picks else ((), ())
    return Interleaved(systems=systems, documents=documents, teams=teams)


def _require_ids(ranking: Sequence[str]) -> None:
    """Refuse what is no list of ids, such as a text or pairs with scores: no document of it would be another's."""
    try:
        if isinstance(ranking, str):
            raise NotHits("a text is no list of ids")
        if not are_ids(ranking):
            for value in ranking:
                to_id(value)
    except TypeError as error:
        raise UsageError(f"a ranking is a list of ids of documents: {error}") from None


def _agree(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Return the documents at the top on which all rankings agree, rank by rank."""
    same: list[str] = []
    for documents in zip(*rankings, strict=False):
        if len(set(documents)) > 1 or documents[0] in same:
            break
        same.append(documents[0])
    return same


def _draft(
    rankings: Mapping[str, Sequence[str]], systems: Sequence[str], same: Iterable[str], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Yield documents and the systems that pick them, until no system has any left."""
    taken = set(same)
    rest = {system: iter(rankings[system]) for system in systems}
    while rest:
        # random() gives the same numbers in every version of Python, and shuffle() need not.
        for system in sorted(rest, key=lambda _: rng.random()):
            document = next((document for document in rest[system] if document not in taken), None)
            if document is None:
                del rest[system]
                continue
            taken.add(document)
            yield document, system
