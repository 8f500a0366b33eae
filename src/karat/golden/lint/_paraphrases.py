"""Paraphrases that add nothing, and paraphrases that ask something else.

Whether two texts mean the same cannot be known without a model, and a good paraphrase may share no word with its query.
So only what speaks for itself is told: the words of another query, another number, a "not" and nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from karat.core import Query
from karat.golden.lint._asking import Relevant
from karat.text import NEGATIONS, content, folded, numbers

NEAR = 0.5
"""The share of content words from which on a paraphrase may belong to another query,"""
FAR = 0.25
"""when it shares with its own query at most this part of that share."""
ALIKE = 0.5
"""The share of the other words from which on another number is another question."""
_RARE = 50  # queries that have a word which leads to them: a frequent word leads everywhere
_TRIED = 5  # queries compared with a paraphrase: those with the most words of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A paraphrase that asks something else, and what tells."""

    query: str
    text: str
    reason: str


def idle(query: Query) -> list[str]:
    """Give the paraphrases that have the words of the query, or of one before, but for case, punctuation and articles.

    >>> idle(Query(id="q", text="Where is the pool?", paraphrases=("where is the pool", "Can I swim here?")))
    ['where is the pool']
    """
    known = {folded(query.text)}
    found = []
    for text in query.paraphrases:
        if folded(text) in known:
            found.append(text)
        known.add(folded(text))
    return found


def strays(queries: Sequence[Query], relevant: Relevant) -> list[Stray]:
    """Find the paraphrases that ask something else than their query."""
    wordings = _Wordings(queries, relevant)
    found = []
    for place, query in enumerate(queries):
        for text in query.paraphrases:
            reason = _changed(query.text, text) or wordings.elsewhere(place, text)
            if reason:
                found.append(Stray(query=query.id, text=text, reason=reason))
    return found


def _changed(query: str, text: str) -> str:
    """Say what a paraphrase changes: a number, or whether it is so."""
    one, other = numbers(query), numbers(text)
    here, there = frozenset(content(query)), frozenset(content(text))
    # Where the words change too, "a fortnight" may be "14 days", and "41 nights" may be told as "in July".
    if one - other and other - one and _share(_without_numbers(here), _without_numbers(there)) >= ALIKE:
        return f"asks for {_listed(other - one)}, not {_listed(one - other)}"
    if here - NEGATIONS == there - NEGATIONS and bool(here & NEGATIONS) != bool(there & NEGATIONS):
        return "differs by a negation only"
    return ""


def _without_numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if not numbers(word))


def _listed(values: frozenset[str]) -> str:
    return " and ".join(sorted(values))


class _Wordings:
    """All texts of all queries, by their content words."""

    def __init__(self, queries: Sequence[Query], relevant: Relevant) -> None:
        self._queries, self._relevant = queries, relevant

    @cached_property
    def _contents(self) -> list[list[frozenset[str]]]:
        return [[frozenset(content(text)) for text in (query.text, *query.paraphrases)] for query in self._queries]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for place, (asked, *_) in enumerate(self._contents):
            for word in asked:
                found[word].append(place)
        return {word: places for word, places in found.items() if len(places) <= _RARE}

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for place, query in enumerate(self._queries):
            for text in {folded(text) for text in (query.text, *query.paraphrases)}:
                found[text].append(place)
        return found

    def elsewhere(self, own: int, text: str) -> str:
        """Say to which other query a paraphrase belongs, if it does; one with a common answer is not another."""
        for place in self._folded[folded(text)][:_RARE]:
            if self._apart(own, place):
                return f"is the text of {self._queries[place].id}"
        words = frozenset(content(text))
        if len(words) < 2:
            return ""
        shared = Counter(place for word in words for place in self._places.get(word, ()))
        at_home = max((_share(words, other) for other in self._siblings(own, words)), default=0.0)
        for place, _ in shared.most_common(_TRIED):
            away = _share(words, self._contents[place][0])
            if self._apart(own, place) and away >= NEAR and at_home <= FAR * away:
                return f"has the words of {self._queries[place].id}"
        return ""

    def _siblings(self, own: int, words: frozenset[str]) -> Iterator[frozenset[str]]:
        yield self._contents[own][0]
        yield from (other for other in self._contents[own][1:] if other != words)

    def _apart(self, own: int, place: int) -> bool:
        """Say whether two queries have no relevant document in common."""
        one, other = (self._relevant.get(self._queries[at].id, frozenset()) for at in (own, place))
        return own != place and not one & other


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """Give what both have, of what either has; nothing is like nothing."""
    return len(one & other) / len(one | other) if one | other else 1.0
