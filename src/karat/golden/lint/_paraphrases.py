"""Paraphrases that add nothing, and paraphrases that ask something else.

Whether two texts mean the same cannot be known without a model, and a good paraphrase may share no word with its query.
So only clear cases are reported: the words of another query, another number, or a "not" as the only difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from karat.core import Query
from karat.golden.lint._asking import Relevant
from karat.text import NEGATIONS, folded, numbers, subject

NEAR = 0.5
"""A paraphrase that shares this part of its content words with another query may belong to that,"""
FAR = 0.25
"""if it shares with its own query at most this part of that share."""
ALIKE = 0.5
"""Where two texts share this part of their other words, another number makes another question."""
_RARE = 50  # words in more queries than this are not used to find similar queries
_TRIED = 5  # queries compared with a paraphrase: those with the most words of it
_SIBLINGS = 50  # other wordings of its own query that are compared with a paraphrase: those with the most words of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A paraphrase that asks something else, and how it shows."""

    query: str
    text: str
    reason: str


def idle(query: Query) -> list[str]:
    """Return the paraphrases that repeat the words of the query or of an earlier one.

    Case, punctuation and articles do not count.

    >>> idle(Query(id="q", text="Where is the pool?", paraphrases=("where is the pool", "Can I swim here?")))
    ['where is the pool']
    """
    seen = {folded(query.text)}
    repeated = []
    for text in query.paraphrases:
        if folded(text) in seen:
            repeated.append(text)
        seen.add(folded(text))
    return repeated


def strays(queries: Sequence[Query], relevant: Relevant) -> list[Stray]:
    """Return the paraphrases that do not ask what their query asks."""
    wordings = _Wordings(queries, relevant)
    lost = []
    for place, query in enumerate(queries):
        own, *others = wordings.contents[place] if query.paraphrases else [frozenset()]
        for text, words in zip(query.paraphrases, others, strict=True):
            reason = _changed(query.text, text, own, words) or wordings.elsewhere(place, text, words)
            if reason:
                lost.append(Stray(query=query.id, text=text, reason=reason))
    return lost


def _changed(query: str, text: str, old: frozenset[str], new: frozenset[str]) -> str:
    """Return what a paraphrase changes: a number or a negation; empty if neither. ``old`` and ``new`` are the words."""
    before, after = numbers(query), numbers(text)
    # Where the words change too, "a fortnight" may be "14 days", and "41 nights" may be called "in July".
    if before - after and after - before and _share(_without_numbers(old), _without_numbers(new)) >= ALIKE:
        return f"asks for {_listed(after - before)}, not {_listed(before - after)}"
    if old - NEGATIONS == new - NEGATIONS and bool(old & NEGATIONS) != bool(new & NEGATIONS):
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
        self._siblings: dict[int, _Siblings] = {}
        self._disjoint: dict[tuple[int, int], bool] = {}

    @cached_property
    def contents(self) -> list[list[frozenset[str]]]:
        """The content words of each query, and of its paraphrases."""
        return [[subject(text) for text in (query.text, *query.paraphrases)] for query in self._queries]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places_of: dict[str, list[int]] = defaultdict(list)
        for place, (query_words, *_) in enumerate(self.contents):
            for word in query_words:
                places_of[word].append(place)
        return {word: places for word, places in places_of.items() if len(places) <= _RARE}

    @cached_property
    def _folded(self) -> dict[str, list[int]]:
        places_of: dict[str, list[int]] = defaultdict(list)
        for place, query in enumerate(self._queries):
            for text in {folded(text) for text in (query.text, *query.paraphrases)}:
                places_of[text].append(place)
        return places_of

    def elsewhere(self, own: int, text: str, words: frozenset[str]) -> str:
        """Return to which other query a paraphrase belongs, or nothing; queries that share an answer do not count."""
        for place in self._folded[folded(text)][:_RARE]:
            if self._apart(own, place):
                return f"is the text of {self._queries[place].id}"
        if len(words) < 2:
            return ""
        shared = Counter(place for word in words for place in self._places.get(word, ()))
        for place, _ in shared.most_common(_TRIED):
            away = _share(words, self.contents[place][0])
            # Its siblings are looked at last, and only if need be: a query may have thousands of them.
            if self._apart(own, place) and away >= NEAR and self._at_home(own, words) <= FAR * away:
                return f"has the words of {self._queries[place].id}"
        return ""

    def _at_home(self, own: int, words: frozenset[str]) -> float:
        """Return the largest share of words with the own query, or with another wording of it."""
        if own not in self._siblings:
            self._siblings[own] = _Siblings(self.contents[own][1:])
        shares = [_share(words, other) for other in self._siblings[own].find(words)]
        return max(_share(words, self.contents[own][0]), *shares, 0.0)

    def _apart(self, own: int, place: int) -> bool:
        """Return whether two queries have no relevant document in common."""
        if own == place:
            return False
        if (own, place) not in self._disjoint:
            first, second = (self._relevant.get(self._queries[at].id, frozenset()) for at in (own, place))
            self._disjoint[own, place] = first.isdisjoint(second)
        return self._disjoint[own, place]


class _Siblings:
    """The paraphrases of one query, by their words, so that thousands need not be compared each with each."""

    def __init__(self, contents: Sequence[frozenset[str]]) -> None:
        # Of those with a certain word the shortest come first: it is the largest share of their words.
        self._distinct = sorted(dict.fromkeys(contents), key=len)
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(self._distinct) if len(self._distinct) > _SIBLINGS else ():
            for word in words:
                if len(self._places[word]) <= _SIBLINGS:  # one of them may be the paraphrase itself
                    self._places[word].append(place)

    def find(self, words: frozenset[str]) -> Iterator[frozenset[str]]:
        """Yield the paraphrases in other words; of very many, those that share the most with these."""
        likely = self._distinct
        if self._places:
            shared = Counter(place for word in words for place in self._places.get(word, ()))
            likely = [self._distinct[place] for place, _ in shared.most_common(_SIBLINGS + 1)]
        return (other for other in likely if other != words)


def _share(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets; two empty sets are equal."""
    both = len(first & second)
    return both / (len(first) + len(second) - both) if first or second else 1.0
