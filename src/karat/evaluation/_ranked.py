"""The ranked documents of each query of a run, which are made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress, pairwise
from typing import Any

import msgspec
import numpy as np

from karat.core import InputError, TableRows, Trace, find_table_rows, list_documents, shorten

_decode_documents = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_lists = msgspec.json.Decoder(list[tuple[str, ...]]).decode


class RankedLists(Mapping[str, tuple[str, ...]]):
    """The documents of each query in its original wording and first repeat, each at its best rank.

    >>> from karat.core import Hit
    >>> hits = (Hit("wifi:chunk:0", 0.9), Hit("wifi:chunk:1", 0.8), Hit("pool", 0.7))
    >>> dict(RankedLists({"q": Trace(query="q", text="?", hits=hits)}))
    {'q': ('wifi', 'pool')}
    """

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self._traces = traces

    def __getitem__(self, query: str) -> tuple[str, ...]:
        return _drop_repeats(list_documents(self._traces[query].listed))

    def take(self, queries: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the lists of some queries, of which many are made at once in a third of the time."""
        selection = find_table_rows([self._traces[query].listed for query in queries])
        if selection is None:
            return [self[query] for query in queries]
        names, ends = selection.table.names, np.cumsum(selection.lengths).tolist()
        documents = [names[number] for number in selection.table.document[selection.rows].tolist()]
        return [_drop_repeats(documents[start:end]) for start, end in pairwise([0, *ends])]

    def __iter__(self) -> Iterator[str]:
        return iter(self._traces)

    def __len__(self) -> int:
        return len(self._traces)

    def __contains__(self, query: object) -> bool:
        return query in self._traces

    def __repr__(self) -> str:
        return repr(dict(self))

    def find_answered(self) -> dict[str, bool]:
        """Return whether each query has documents."""
        if self._table is not None:
            return dict(zip(self._traces, (self._table.lengths > 0).tolist(), strict=True))
        return {query: len(trace.listed) > 0 for query, trace in self._traces.items()}

    @cached_property
    def _table(self) -> TableRows | None:
        """The rows of all lists in the table that they share; None if they are held otherwise."""
        return find_table_rows([trace.listed for trace in self._traces.values()])

    def find_equal(self, others: RankedLists) -> dict[str, int]:
        """Return the length of each list that is the same in another run, as far as that shows without making lists.

        >>> from karat.core import Hit
        >>> traces = {"q": Trace(query="q", text="?", hits=(Hit("wifi", 0.9),))}
        >>> RankedLists(traces).find_equal(RankedLists(traces))  # these are held as objects
        {}
        """
        queries = list(self._traces)
        if queries == list(others._traces):  # as nearly always
            mine, theirs = self._table, others._table
        else:
            queries = [query for query in queries if query in others._traces]
            mine, theirs = (
                find_table_rows([lists._traces[query].listed for query in queries]) for lists in (self, others)
            )
        if mine is None or theirs is None:
            return {}
        numbers = {name: number for number, name in enumerate(mine.table.names)}
        number_of = np.array([numbers.get(name, -1) for name in theirs.table.names], np.int64)
        same = mine.lengths == theirs.lengths
        list_of = np.repeat(np.arange(len(queries)), mine.lengths)
        document = mine.table.document[mine.rows]
        other = number_of[theirs.table.document[theirs.rows]]
        if not same.all():  # without the lists of other lengths, a row of one run stands beside that of the other
            kept = np.repeat(same, theirs.lengths)
            other, kept = other[kept], same[list_of]
            document, list_of = document[kept], list_of[kept]
        same[list_of[document != other]] = False
        pairs = np.sort(list_of * max(len(numbers), 1) + document)
        same[pairs[1:][pairs[1:] == pairs[:-1]] // max(len(numbers), 1)] = False  # a document that stands there twice
        return dict(zip(compress(queries, same.tolist()), mine.lengths[same].tolist(), strict=True))


class StoredLists(Mapping[str, tuple[str, ...]]):
    """The documents of each query as JSON, such as a baseline file has them, decoded when somebody asks for them.

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
