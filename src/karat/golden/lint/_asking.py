"""Queries that ask the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from karat.core import Query
from karat.golden.lint._similar import near_duplicates
from karat.text import content, folded, letters

Relevant = Mapping[str, frozenset[str]]
"""The relevant documents of each query that has some; those of one class are one."""

ALIKE = 0.8
"""From which share of their letter runs on two queries are nearly the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Pairs of queries, by id, the earlier first."""

    counted_twice: tuple[tuple[str, str], ...]
    """They ask the same, and have the same relevant documents."""
    contradicting: tuple[tuple[str, str], ...]
    """They have the same words, and different relevant documents."""


def repeats(queries: Sequence[Query], relevant: Relevant) -> Repeats:
    """Find queries that ask the same.

    The same words, but for case, punctuation and articles, ask the same whatever the judgments say. The same content
    words in any order, or nearly the same letters, ask the same only when the same documents are relevant: "from Rome
    to Oslo" is not "from Oslo to Rome", and one other word can make another question. A query of a session is left
    out, because what went before it is part of what it asks.
    """
    asked = [query for query in queries if query.session is None and folded(query.text)]
    twice: dict[tuple[str, str], None] = {}
    contradicting = []
    first: dict[str, Query] = {}
    for query in asked:
        same = first.setdefault(folded(query.text), query)
        if same is not query and relevant.get(same.id) == relevant.get(query.id):
            twice[same.id, query.id] = None
        elif same is not query:
            contradicting.append((same.id, query.id))
    for one, other in _reworded([query for query in first.values() if query.id in relevant], relevant):
        twice[one.id, other.id] = None
    return Repeats(counted_twice=tuple(twice), contradicting=tuple(contradicting))


def _reworded(queries: Sequence[Query], relevant: Relevant) -> Iterator[tuple[Query, Query]]:
    """Give the pairs with the same relevant documents and the same content words, or nearly the same letters."""
    first: dict[tuple[frozenset[str], frozenset[str]], Query] = {}
    for query in queries:
        asked = frozenset(content(query.text))
        same = first.setdefault((asked, relevant[query.id]), query) if asked else query
        if same is not query:
            yield same, query
    # Letters, not words: a query of four words that loses one has lost a quarter, and a plural is another word.
    for pair in near_duplicates([query.text for query in queries], threshold=ALIKE, tokens=letters, width=1):
        one, other = queries[pair.first], queries[pair.second]
        if relevant[one.id] == relevant[other.id]:
            yield one, other
