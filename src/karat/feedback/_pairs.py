"""Pairs of query and document: how often each was shown, read, cited and validated, over all sessions."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from karat.feedback._sessions import AskedQuery, Session
from karat.stats.clicks import Impressions
from karat.text import folded

Pair = tuple[str, str]
"""A query, as :func:`karat.text.folded` writes it, and a document."""


@dataclass(slots=True)
class PairCounts:
    """What happened to each pair. A list that one session saw several times counts once."""

    queries: dict[str, Counter[str]] = field(default_factory=dict)
    """How people write each query, by its folded text."""
    places: dict[Pair, int] = field(default_factory=dict)
    """The number of each pair, from 0, in the order in which they were shown first."""
    useful: Counter[Pair] = field(default_factory=Counter)
    """In how many sessions it was called useful."""
    not_useful: Counter[Pair] = field(default_factory=Counter)
    cited: Counter[Pair] = field(default_factory=Counter)
    """In how many sessions an answer cited it, or used its words."""
    impressions: Impressions = field(default_factory=lambda: Impressions(pages=[], items=[], ranks=[], clicks=[]))  # type: ignore[arg-type]


def count_pairs(sessions: Iterable[Session]) -> PairCounts:
    """Return what happened to every pair of query and document that was shown or validated.

    A query counts once in a session, since what one person does twice is not two opinions: the first list of it from
    which something was read, and otherwise the last.
    """
    counts = PairCounts()
    columns = tuple(array("q") for _ in range(4))
    page = 0
    for session in sessions:
        for text, asked in _group(session.queries).items():
            counts.queries.setdefault(text, Counter())[asked[-1].query.text] += 1
            for tally, documents in (
                (counts.useful, (name for own in asked for name in own.useful)),
                (counts.not_useful, (name for own in asked for name in own.not_useful)),
                (counts.cited, (name for own in asked for name in own.helpful)),
            ):
                tally.update((text, name) for name in dict.fromkeys(documents))
            chosen = next((own for own in asked if own.read), asked[-1])
            _add_list(chosen, text, page, counts.places, columns)
            page += 1
    pages, items, ranks, clicks = (np.frombuffer(column, np.int64) for column in columns)
    counts.impressions = Impressions(pages=pages, items=items, ranks=ranks, clicks=clicks.astype(np.bool_))
    return counts


def _group(queries: Iterable[AskedQuery]) -> dict[str, list[AskedQuery]]:
    groups: dict[str, list[AskedQuery]] = {}
    for asked in queries:
        if text := folded(asked.query.text):
            groups.setdefault(text, []).append(asked)
    return groups


def _add_list(
    asked: AskedQuery, text: str, page: int, places: dict[Pair, int], columns: tuple[array[int], ...]
) -> None:
    """Add a list to the impressions; several parts of a document are one, at the rank of the first."""
    taken: set[int] = set()
    for hit in asked.query.hits:
        pair = (text, hit.document)
        item = places.setdefault(pair, len(places))
        if item in taken or hit.rank < 1:
            continue
        taken.add(item)
        for column, value in zip(columns, (page, item, len(taken), hit.document in asked.read), strict=True):
            column.append(value)
