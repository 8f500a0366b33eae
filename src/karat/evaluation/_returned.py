"""What a system returned, as it is scored: the documents that ids name, and the score from which on a hit counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from karat.core import (
    BLOCK_TYPES,
    GoldenSet,
    Hit,
    HitList,
    Ids,
    Trace,
    TracesByQuery,
    count_things,
    document_of,
    find_table_rows,
    list_hits,
    list_queries,
    list_scores,
    map_hits,
    select_detailed,
    shorten,
)
from karat.measures import find_invented
from karat.runs import Parts

_NAMED = 5


def read_returned(
    golden: GoldenSet, traces: Sequence[Trace], ids: Ids = "chunk", min_score: float | None = None
) -> Sequence[Trace]:
    """Return the traces with the hits that count, each with the document and part that its id names.

    A hit whose system named its document keeps it. So does a hit of another program's run, which was resolved when it
    was read.

    >>> trace = Trace(query="q", text="?", hits=(Hit("wifi#S.2", 0.9), Hit("spa#S.1", 0.2)))
    >>> [(hit.document, hit.section) for hit in read_returned(GoldenSet(), [trace], "path", 0.5)[0].hits]
    [('wifi', 'S.2')]
    """
    if min_score is None and ids == "chunk":  # which is how a Hit reads its id
        return traces
    parts = Parts(golden)
    return tuple(
        replace(
            trace,
            hits=tuple(
                _resolve(hit, trace.query, parts, ids)
                for hit in trace.hits
                if min_score is None or hit.score >= min_score
            ),
        )
        for trace in traces
    )


def _resolve(hit: Hit, query: str, parts: Parts, ids: Ids) -> Hit:
    if ids == "chunk" or hit.document != document_of(hit.id):
        return hit
    part = parts.of(hit.id, query) if ids == "auto" else parts.by_scheme(hit.id, ids)
    return replace(hit, document=part.document, section=hit.section or part.section, block=hit.block or part.block)


def find_unsorted(traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces in which a hit has a higher score than the one before it.

    >>> sorted_, unsorted = (Trace(query="q", text="?", hits=tuple(Hit("d", score) for score in scores))
    ...                      for scores in ((2.0, 1.0), (1.0, 2.0)))
    >>> find_unsorted([sorted_, unsorted, sorted_]) == [unsorted]
    True
    """
    lists = list_hits(traces)
    if (selection := find_table_rows(lists)) is not None:
        ends, scores = np.append(0, np.cumsum(selection.lengths)), selection.table.score[selection.rows]
    else:
        ends = np.cumsum([0, *map(len, lists)])
        scores = np.fromiter(chain.from_iterable(map(list_scores, lists)), np.float64, int(ends[-1]))
    falls = np.ones(len(scores), np.bool_)
    falls[:-1] = scores[1:] <= scores[:-1]  # false if a score is not a number
    falls[ends[ends > 0] - 1] = True  # the last hit of a list is followed by that of another one
    places = np.searchsorted(ends, np.flatnonzero(~falls), side="right") - 1
    return [traces[place] for place in dict.fromkeys(places.tolist())]


def keep_order(traces: Iterable[Trace] | Mapping[str, Trace]) -> dict[str, Sequence[Hit]]:
    """Return the hits of each query, with other scores where its own ones contradict the system's order.

    The traces may be by query already.
    """
    by_query = traces if isinstance(traces, Mapping) else {trace.query: trace for trace in traces}
    hits = map_hits(by_query)
    ordered = by_query.table if isinstance(by_query, TracesByQuery) else tuple(by_query.values())
    for trace in find_unsorted(ordered):
        count = len(trace.hits)
        hits[trace.query] = tuple(replace(hit, score=float(count - i)) for i, hit in enumerate(trace.hits))
    return hits


def describe_order(traces: Sequence[Trace]) -> list[str]:
    """Return a note if the scores of some lists contradict their order; the order counts.

    >>> describe_order([Trace(query="q1", text="?", hits=(Hit("wifi", 0.2), Hit("pool", 0.9)))])
    ["the hits of 1 query are not in the order of their scores, such as those of 'q1': the order of the list counts"]
    """
    queries = list(dict.fromkeys(trace.query for trace in find_unsorted(traces)))
    if not queries:
        return []
    many = "1 query" if len(queries) == 1 else f"{len(queries):,} queries"
    unsorted = f"the hits of {many} are not in the order of their scores, such as those of {shorten(queries[0])}"
    return [f"{unsorted}: the order of the list counts"]


def describe_repeated_ids(traces: Sequence[Trace]) -> list[str]:
    """Return a note if lists have an id more than once, with the first of them. Several chunks of a document may be.

    >>> describe_repeated_ids([Trace(query="q1", text="?", hits=(Hit("wifi", 0.9), Hit("wifi", 0.8)))])
    ["1 query got the same id more than once, such as 'wifi' of 'q1': it takes the place of other documents"]
    """
    queries, lists = list_queries(traces), list_hits(traces)
    places = _find_repeating(lists)
    if not places:
        return []
    many = count_things(len({queries[place] for place in places}), "query", "queries")
    such = f"such as {shorten(_find_repeated(lists[places[0]]))} of {shorten(queries[places[0]])}"
    return [f"{many} got the same id more than once, {such}: it takes the place of other documents"]


def _find_repeating(lists: Sequence[Sequence[Hit]]) -> list[int]:
    """Return the places of the lists that have a hit more than once."""
    if (selection := find_table_rows(lists)) is None:
        return [place for place, hits in enumerate(lists) if len(set(keys := _list_keys(hits))) < len(keys)]
    size = len(selection.table.names)
    keys = np.repeat(np.arange(len(lists)), selection.lengths) * size + selection.table.id[selection.rows]
    keys.sort()
    places: list[int] = np.unique(keys[1:][keys[1:] == keys[:-1]] // max(1, size)).tolist()
    return places


def _find_repeated(hits: Sequence[Hit]) -> str:
    """Return the id of the first hit that a list has more than once."""
    counts = Counter(keys := _list_keys(hits))
    return next(hit.id for hit, key in zip(hits, keys, strict=True) if counts[key] > 1)


def _list_keys(hits: Sequence[Hit]) -> Sequence[Hashable]:
    """Return what each hit is: passages with the id of their document differ in their place or their text."""
    if isinstance(hits, HitList):
        return hits.ids
    return [(hit.id, hit.span, hit.section, hit.block, hit.content) for hit in hits]


def describe_types(traces: Sequence[Trace]) -> list[str]:
    """Return a note if hits have a type that no block has.

    >>> hits = Hit("wifi", 0.2, type="video"), Hit("pool", 0.1, type="code")
    >>> describe_types([Trace(query="q1", text="?", hits=hits)])
    ["1 hit of 1 query has a type that no block has: 'video'; write prose, code, table, figure or caption, or none"]
    """
    strange: Counter[str] = Counter()
    queries: dict[str, None] = {}
    for trace in select_detailed(traces):
        if type(trace.listed) is HitList:  # of which no types are known
            continue
        if types := [hit.type for hit in trace.hits if hit.type and hit.type not in BLOCK_TYPES]:
            strange.update(types)
            queries[trace.query] = None
    if not strange:
        return []
    total = strange.total()
    names = ", ".join(shorten(name) for name, _ in strange.most_common(_NAMED)) + (", ..." * (len(strange) > _NAMED))
    hits, verb = ("1 hit", "has") if total == 1 else (f"{total:,} hits", "have")
    many = "1 query" if len(queries) == 1 else f"{len(queries):,} queries"
    kinds = f"{', '.join(BLOCK_TYPES[:-1])} or {BLOCK_TYPES[-1]}"
    return [f"{hits} of {many} {verb} a type that no block has: {names}; write {kinds}, or none"]


def list_invented(golden: GoldenSet, traces: Sequence[Trace]) -> dict[str, Sequence[str]]:
    """Return the ids that answers cite and that exist nowhere, by query, in all wordings and repeats."""
    invented: dict[str, dict[str, None]] = {}
    for trace in select_detailed(traces):
        if trace.citations and (names := find_invented(golden, trace)):
            invented.setdefault(trace.query, {}).update(dict.fromkeys(names))
    return {query: tuple(names) for query, names in invented.items()}


def describe_invented(invented: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a note if answers cite ids that exist nowhere, with the first of the queries and of the ids.

    >>> print(*describe_invented({"q1": ["ghost"], "q7": ["a", "b"]}))  # doctest: +ELLIPSIS
    3 cited ids of 2 queries are neither a hit nor a document: 'ghost' of 'q1', 'a' of 'q7', 'b' of 'q7' (...)
    """
    if not invented:
        return []
    pairs = [(query, name) for query, names in invented.items() for name in names]
    names = ", ".join(f"{shorten(name)} of {shorten(query)}" for query, name in pairs[:_NAMED])
    more = ", ..." if len(pairs) > _NAMED else ""
    ids = "1 cited id" if len(pairs) == 1 else f"{len(pairs):,} cited ids"
    queries = "1 query" if len(invented) == 1 else f"{len(invented):,} queries"
    missing = f"{'is' if len(pairs) == 1 else 'are'} neither a hit nor a document"
    once = "an id counts once for a query, however often it is cited"
    return [f"{ids} of {queries} {missing}: {names}{more} ({once})"]
