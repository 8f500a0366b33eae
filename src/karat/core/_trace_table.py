"""The traces of a run in columns: a run of 100,000 questions is scored without an object for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import repeat
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from karat.core._hit import Hit
from karat.core._hit_table import HitTable
from karat.core._trace import Trace
from karat.core._trace_draft import make_trace


class TraceTable(Sequence[Trace]):
    """Traces that have a question, times and plain hits, and nothing else: no error, answer, paraphrase or stages.

    It makes its objects when somebody asks for one.

    >>> hits = HitTable(names=["wifi"], id=np.array([0]), document=np.array([0]), score=np.array([0.5]),
    ...                 lengths=np.array([1, 0]))
    >>> traces = TraceTable(queries=("q1", "q2"), texts=["Wifi?", "Pool?"], judged=["", ""],
    ...                     timings={"total": np.array([1.5, 2.0])}, hits=hits)
    >>> len(traces), traces.queries, traces[1].text, [hit.id for hit in traces[0].hits]
    (2, ('q1', 'q2'), 'Pool?', ['wifi'])
    """

    def __init__(
        self,
        *,
        queries: tuple[str, ...],
        texts: Sequence[str],
        judged: Sequence[str],
        timings: Mapping[str, NDArray[np.float64]],
        hits: HitTable,
    ) -> None:
        self.queries = queries
        self.texts = texts
        self.judged = judged
        self.timings = timings
        """The milliseconds of every trace, by stage."""
        self.hits = hits
        """The hits of all traces; ``hits.lists`` has those of each."""

    @cached_property
    def objects(self) -> tuple[Trace, ...]:
        """The traces, one object each."""
        return tuple(self._make(slice(None)))

    def take(self, queries: Set[str]) -> list[Trace]:
        """Return the traces of some queries, without an object for each of the others."""
        if "objects" in self.__dict__:  # somebody has asked for all of them before
            return [trace for trace in self.objects if trace.query in queries]
        return self._make([place for place, query in enumerate(self.queries) if query in queries])

    def _make(self, places: slice | list[int]) -> list[Trace]:
        queries = _select(self.queries, places)
        timings: list[dict[str, float]] = [{} for _ in queries]
        for stage, column in self.timings.items():
            for times, milliseconds in zip(timings, column[places].tolist(), strict=True):
                times[stage] = milliseconds
        texts, hits, judged = (_select(column, places) for column in (self.texts, self.hits.lists, self.judged))
        return list(map(make_trace, queries, texts, hits, timings, repeat(""), judged))

    @cached_property
    def by_query(self) -> TracesByQuery:
        """The traces by query, also without an object for each."""
        return TracesByQuery(self)

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.objects)

    @overload
    def __getitem__(self, place: int) -> Trace: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Trace, ...]: ...
    def __getitem__(self, place: int | slice) -> Trace | tuple[Trace, ...]:
        return self.objects[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | TraceTable) and self.objects == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.objects)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self.objects,)


def _select(column: Sequence[Any], places: slice | list[int]) -> Sequence[Any]:
    return column[places] if isinstance(places, slice) else [column[place] for place in places]


class TracesByQuery(Mapping[str, Trace]):
    """The traces of a table by query, if each has a query of its own."""

    def __init__(self, table: TraceTable) -> None:
        self._table = table
        self._places = {query: place for place, query in enumerate(table.queries)}

    @property
    def table(self) -> TraceTable:
        """The table, which has the traces in the same order."""
        return self._table

    def __getitem__(self, query: str) -> Trace:
        return self._table[self._places[query]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, query: object) -> bool:
        return query in self._places


def list_queries(traces: Sequence[Trace]) -> Sequence[str]:
    """Return the query of each trace."""
    return traces.queries if isinstance(traces, TraceTable) else [trace.query for trace in traces]


def list_hits(traces: Sequence[Trace]) -> Sequence[Sequence[Hit]]:
    """Return the hits of each trace, as they are held."""
    return traces.hits.lists if isinstance(traces, TraceTable) else [trace.listed for trace in traces]


def map_hits(traces: Mapping[str, Trace]) -> dict[str, Sequence[Hit]]:
    """Return the hits of each query, as they are held."""
    if isinstance(traces, TracesByQuery):
        return dict(zip(traces, traces.table.hits.lists, strict=True))
    return {query: trace.listed for query, trace in traces.items()}


def select_detailed(traces: Sequence[Trace]) -> Sequence[Trace]:
    """Return the traces that may have more than a question, times and plain hits, such as an error or an answer."""
    return () if isinstance(traces, TraceTable) else traces
