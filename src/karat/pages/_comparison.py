"""The pages of two runs: which is better, what moved, and both rankings of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import UNSET, Meta, Struct
from numpy.typing import NDArray

from karat.core import Trace, UsageError
from karat.index import Index, IndexedQuery, IndexedRun
from karat.pages._errors import NotReady, NotThere
from karat.pages._moving import name_movers, rank_hits
from karat.pages._ranking import read_ranking, read_trace
from karat.pages._run import choose_first, find_later, require_run, take_page
from karat.schema.pages import ChangedQuery, ComparisonPage, PlacedQueries, RankingsPage

_BINS = 50  # places along an axis of the plot
_TIE = 1e-9
_Run = Annotated[str, Meta(min_length=1, max_length=500, description="The id of a run.")]
_Measure = Annotated[str, Meta(max_length=200, description="The measure of queries and plot.")]
_Order = Annotated[str, Meta(pattern="^(losses|gains)$", description="Which queries come first.")]


class ComparisonRequest(Struct, frozen=True, kw_only=True):
    """Which two runs, and by which measure."""

    a: _Run
    b: _Run
    measure: _Measure = ""
    order: _Order = "losses"
    after: Annotated[str, Meta(max_length=1_000, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 25


class RankingsRequest(Struct, frozen=True, kw_only=True):
    """Which query of which two runs, and the list that it is part of."""

    query: Annotated[str, Meta(min_length=1, max_length=2_000)]
    a: _Run
    b: _Run
    measure: _Measure = ""
    order: _Order = "losses"


def show_comparison(index: Index, request: ComparisonRequest) -> ComparisonPage:
    """Return two runs side by side; the first is what the second is compared with."""
    first, second = _require_pair(index, request.a, request.b)
    comparison = index.read_comparison(request.a, request.b)
    if comparison is None:
        raise NotReady("The two runs are being compared.", ("compare", request.a, request.b))
    measures, measure = _choose(first, second, request.measure)
    values = _read_pair(index, first, second, measure)
    is_low = _is_lower_better(second, measure)
    gains = (values[0] - values[1]) if is_low else (values[1] - values[0])
    has_both = ~np.isnan(gains)
    keys = gains if request.order == "losses" else -gains
    moved = has_both & (np.abs(gains) > _TIE)
    queries, more = take_page(index, keys, np.flatnonzero(moved), request.after, request.limit)
    movers = _find_movers(index, first, second, queries)
    return ComparisonPage(
        project=index.meta.get("name", index.folder.name),
        first=first.line,
        second=second.line,
        comparison=comparison,
        measures=measures,
        measure=measure,
        lower_is_better=is_low,
        queries=tuple(
            ChangedQuery(
                id=query.id,
                text=query.text,
                category=query.category,
                first=float(values[0, query.position]),
                second=float(values[1, query.position]),
                gain=float(gains[query.position]),
                mover=movers.get(query.id, ""),
            )
            for query in queries
        ),
        dots=_place(values if has_both.all() else np.stack([row[has_both] for row in values])),
        better=int((gains > _TIE).sum()),
        worse=int((gains < -_TIE).sum()),
        same=int((np.abs(gains) <= _TIE).sum()),
        unknown=int((~has_both).sum()),
        more=more,
    )


def name_missing_bounds(page: ComparisonPage) -> tuple[str, ...] | None:
    """Return the job that adds to a comparison how far unjudged documents could move it; None if it has that."""
    is_whole = all(row.bounds is not UNSET for pair in page.comparison.pairs for row in pair.measures)
    return None if is_whole else ("bounds", page.first.id, page.second.id)


def show_rankings(index: Index, request: RankingsRequest) -> RankingsPage:
    """Return both rankings of a query, and which queries come before and after it in the list of the comparison."""
    first, second = _require_pair(index, request.a, request.b)
    query = index.find_query(request.query)
    if query is None:
        raise NotThere(f"the golden set has no query {request.query[:100]!r}")
    measures, measure = _choose(first, second, request.measure)
    values = _read_pair(index, first, second, measure)
    is_low = _is_lower_better(second, measure)
    gains = (values[0] - values[1]) if is_low else (values[1] - values[0])
    keys = gains if request.order == "losses" else -gains
    keys = np.where(np.abs(gains) > _TIE, keys, np.nan)  # those that did not move are not in the list
    place, near, total = _find_neighbours(keys, query.position)
    traces = [read_trace(index, run, query)[0] for run in (first, second)]
    movers = name_movers(*traces)
    return RankingsPage(
        project=index.meta.get("name", index.folder.name),
        query=query.id,
        text=query.text,
        category=query.category,
        measure=measure,
        measures=measures,
        first=read_ranking(index, first, query, traces[1], movers),
        second=read_ranking(index, second, query, traces[0], movers),
        previous=_name_query(index, near[0]),
        next=_name_query(index, near[1]),
        place=place,
        of=total,
    )


def _find_movers(
    index: Index, first: IndexedRun, second: IndexedRun, queries: Sequence[IndexedQuery]
) -> dict[str, str]:
    """Return what moved the best relevant document of queries that moved between two runs, by their ids."""
    before, after = (index.read_traces(run, queries) for run in (first, second))
    return {
        query.id: _find_mover(query.list_relevant(index.relevant), before[query.id], after[query.id])
        for query in queries
        if query.id in before and query.id in after
    }


def _find_mover(relevant: Sequence[str], before: Trace, after: Trace) -> str:
    old, new = rank_hits(before.hits), rank_hits(after.hits)
    moved = [id_ for id_ in relevant if old.get(id_) != new.get(id_)]
    movers = name_movers(before, after) if moved else {}
    return next((movers[id_] for id_ in moved if id_ in movers), "")


def _require_pair(index: Index, first: str, second: str) -> tuple[IndexedRun, IndexedRun]:
    if first == second:
        raise UsageError("choose two different runs")
    runs = require_run(index, first), require_run(index, second)
    for run in runs:
        if not run.measures:
            raise UsageError(f"the run {run.line.id} cannot be compared: {run.line.note or run.line.state}")
    return runs


def _choose(first: IndexedRun, second: IndexedRun, name: str) -> tuple[tuple[str, ...], str]:
    """Return the measures that both runs have, and the one that was asked for."""
    shared = tuple(measure for measure in first.measures if measure in second.measures)
    if name and name not in shared:
        raise UsageError(f"the runs do not both have a measure {name!r}; they have {', '.join(shared)}")
    if not shared:
        raise UsageError("the runs have no measure in common")
    return shared, name or shared[0]


def _read_pair(index: Index, first: IndexedRun, second: IndexedRun, measure: str) -> NDArray[np.float64]:
    """Return the scores of all queries in both runs, a row each."""
    return np.array([index.read_series(run, measure) for run in (first, second)])


def _is_lower_better(run: IndexedRun, measure: str) -> bool:
    entry = run.line.find(measure)
    return bool(entry and entry.lower_is_better)


def _find_neighbours(keys: NDArray[np.float64], position: int) -> tuple[int, tuple[int | None, int | None], int]:
    """Return the place of a query in a list, from 1, the positions of those before and after it, and how many it has.

    The place of a query that is not in the list, which has no key, is 0.
    """
    positions = np.flatnonzero(~np.isnan(keys))
    if np.isnan(keys[position]):
        return 0, (None, None), len(positions)
    is_later = find_later(keys, positions, position)
    later, sooner = positions[is_later], positions[~is_later & (positions != position)]
    after, before = choose_first(keys, later, 1).tolist(), sooner[keys[sooner] == keys[sooner].max(initial=-np.inf)]
    near = int(before[-1]) if len(before) else None, after[0] if after else None
    return len(sooner) + 1, near, len(positions)


def _name_query(index: Index, position: int | None) -> str | None:
    queries = [] if position is None else index.read_queries([position])
    return queries[0].id if queries else None


def _place(values: NDArray[np.float64]) -> tuple[PlacedQueries, ...]:
    """Return where queries stand in a plot; near ones share a dot."""
    if not values.size:
        return ()
    low, high = float(values.min()), float(values.max())
    step = (high - low) / _BINS or 1.0
    across, up = np.rint((values - low) / step).astype(np.int32)
    counts = np.bincount(across * (_BINS + 1) + up)
    return tuple(
        PlacedQueries(first=low + cell // (_BINS + 1) * step, second=low + cell % (_BINS + 1) * step, count=count)
        for cell, count in zip(np.flatnonzero(counts).tolist(), counts[counts > 0].tolist(), strict=True)
    )
