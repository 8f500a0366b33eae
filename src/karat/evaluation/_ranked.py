"""The ranked documents of each query of a run, which are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from karat.core import Hit, InputError, TableRows, find_table_rows, list_documents, shorten

Ints = NDArray[np.int64]
_decode_documents = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_lists = msgspec.json.Decoder(list[tuple[str, ...]]).decode


class RankedLists(Mapping[str, tuple[str, ...]]):
    """The documents of each query in its original wording and first repeat, each at its best rank.

    >>> from karat.core import Hit
    >>> hits = (Hit("wifi:chunk:0", 0.9), Hit("wifi:chunk:1", 0.8), Hit("pool", 0.7))
    >>> dict(RankedLists({"q": hits}))
    {'q': ('wifi', 'pool')}
    """

    def __init__(self, hits: Mapping[str, Sequence[Hit]]) -> None:
        self._hits = hits

    def __getitem__(self, query: str) -> tuple[str, ...]:
        return _drop_repeats(list_documents(self._hits[query]))

    def take(self, queries: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the lists of some queries, of which many are made at once in a third of the time."""
        selection = find_table_rows([self._hits[query] for query in queries])
        if selection is None:
            return [self[query] for query in queries]
        names, ends = selection.table.names, np.cumsum(selection.lengths).tolist()
        documents = [names[number] for number in selection.table.document[selection.rows].tolist()]
        return [_drop_repeats(documents[start:end]) for start, end in pairwise([0, *ends])]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hits)

    def __len__(self) -> int:
        return len(self._hits)

    def __contains__(self, query: object) -> bool:
        return query in self._hits

    def __repr__(self) -> str:
        return repr(dict(self))

    def find_answered(self) -> dict[str, bool]:
        """Return whether each query has documents."""
        if self._table is not None:
            return dict(zip(self._hits, (self._table.lengths > 0).tolist(), strict=True))
        return {query: len(hits) > 0 for query, hits in self._hits.items()}

    @cached_property
    def _table(self) -> TableRows | None:
        """The rows of all lists in the table that they share; None if they are held otherwise."""
        return find_table_rows(list(self._hits.values()))

    def pair(self, others: RankedLists) -> PairedLists | None:
        """Return the lists of the queries that both runs have, without making them; None if they are not in tables.

        >>> lists = RankedLists({"q": (Hit("wifi", 0.9),)})
        >>> print(lists.pair(lists))  # these are held as objects
        None
        """
        queries = list(self._hits)
        if queries == list(others._hits):  # as nearly always
            mine, theirs = self._table, others._table
        else:
            queries = [query for query in queries if query in others._hits]
            mine, theirs = (find_table_rows([lists._hits[query] for query in queries]) for lists in (self, others))
        if mine is None or theirs is None:
            return None
        numbers = {name: number for number, name in enumerate(dict.fromkeys((*mine.table.names, *theirs.table.names)))}
        return PairedLists(
            queries=queries,
            first=mine.lengths,
            second=theirs.lengths,
            before=_number_documents(mine, numbers),
            after=_number_documents(theirs, numbers),
            documents=len(numbers),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairedLists:
    """The ranked documents of the same queries in two runs, as numbers, one list after the other."""

    queries: Sequence[str]
    first: Ints
    """How many documents each list of the first run has; a document may be there more than once."""
    second: Ints
    before: Ints
    """The documents of all lists of the first run."""
    after: Ints
    documents: int
    """How many different documents there are."""


def _number_documents(rows: TableRows, numbers: Mapping[str, int]) -> Ints:
    number_of = np.array([numbers[name] for name in rows.table.names], np.int64)
    documents: Ints = number_of[rows.table.document[rows.rows]]
    return documents


class StoredLists(Mapping[str, tuple[str, ...]]):
    """The documents of each query as JSON, as in a baseline file, decoded on demand.

    >>> lists = StoredLists({"q": b'["wifi", "pool"]', "r": b"[]"})
    >>> lists["q"], lists.find_answered()
    (('wifi', 'pool'), {'q': True, 'r': False})
    """

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self._texts = texts

    def __getitem__(self, query: str) -> tuple[str, ...]:
        try:
            return _decode_documents(self._texts[query])
        except msgspec.MsgspecError:  # with the right digest, so that somebody made it on purpose
            raise InputError(f"is a damaged baseline: the documents of query {shorten(query)} are not a list") from None

    def take(self, queries: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the lists of some queries, of which many are decoded at once in half of the time."""
        try:
            lists = _decode_lists(b"[%b]" % b",".join([self._texts[query] for query in queries]))
        except msgspec.MsgspecError:
            lists = []
        return lists if len(lists) == len(queries) else [self[query] for query in queries]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, query: object) -> bool:
        return query in self._texts

    def __repr__(self) -> str:
        return repr(dict(self))

    def find_answered(self) -> dict[str, bool]:
        """Return whether each query has documents."""
        return {query: len(text) > len(b"[]") for query, text in self._texts.items()}


def _drop_repeats(documents: Sequence[str]) -> tuple[str, ...]:
    """Return each document once; nearly always there are no others, which a set tells sooner than a dict."""
    return tuple(documents) if len(set(documents)) == len(documents) else tuple(dict.fromkeys(documents))
