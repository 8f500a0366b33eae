"""Queries that ask the same question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from karat.core import Query
from karat.golden.lint._similar import near_duplicates
from karat.text import folded, letters, subject

Relevant = Mapping[str, frozenset[str]]
"""The relevant documents of each query that has some; documents of one class count as one."""

ALIKE = 0.8
"""Two queries that share at least this part of their letter runs are nearly the same text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Pairs of queries, by id, the earlier first."""

    counted_twice: tuple[tuple[str, str], ...]
    """Pairs that ask the same, and have the same relevant documents."""
    contradicting: tuple[tuple[str, str], ...]
    """Pairs that have the same words, and different relevant documents."""


def repeats(queries: Sequence[Query], relevant: Relevant) -> Repeats:
    """Return the pairs of queries that ask the same.

    Queries with the same words, apart from case, punctuation and articles, ask the same whatever their judgments are.
    The same content words in any order, or nearly the same letters, ask the same only when the same documents are
    relevant: "from Rome to Oslo" is not "from Oslo to Rome", and a different word can make a different question.
    Queries of a session are left out, because what went before is part of what they ask.
    """
    standalone = [query for query in queries if query.session is None and folded(query.text)]
    twice: dict[tuple[str, str], None] = {}
    contradicting = []
    first: dict[str, Query] = {}
    for query in standalone:
        same = first.setdefault(folded(query.text), query)
        if same is not query and relevant.get(same.id) == relevant.get(query.id):
            twice[same.id, query.id] = None
        elif same is not query:
            contradicting.append((same.id, query.id))
    for earlier, later in _reworded([query for query in first.values() if query.id in relevant], relevant):
        twice[earlier.id, later.id] = None
    return Repeats(counted_twice=tuple(twice), contradicting=tuple(contradicting))


def _reworded(queries: Sequence[Query], relevant: Relevant) -> Iterator[tuple[Query, Query]]:
    """Yield the pairs with the same relevant documents and the same content words, or nearly the same letters."""
    first: dict[tuple[frozenset[str], frozenset[str]], Query] = {}
    for query in queries:
        words = subject(query.text)
        same = first.setdefault((words, relevant[query.id]), query) if words else query
        if same is not query:
            yield same, query
    # Letters, not words: a query of four words that loses one has lost a quarter, and a plural is another word.
    for pair in near_duplicates([query.text for query in queries], threshold=ALIKE, tokens=letters, width=1):
        earlier, later = queries[pair.first], queries[pair.second]
        if relevant[earlier.id] == relevant[later.id]:
            yield earlier, later
