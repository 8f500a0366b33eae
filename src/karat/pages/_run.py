"""The page of one run: the report on it, and its queries."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from karat.core import SOURCES, UsageError, did_you_mean
from karat.index import Columns, Index, IndexedJudgment, IndexedQuery, IndexedRun, Mark
from karat.pages._errors import NotThere
from karat.schema import DecisionDocument
from karat.schema.pages import RunPage, RunQuery

_SHOWN = {"all": Mark.ASKED, "failed": Mark.FAILED, "new": Mark.NEW, "errors": Mark.ERROR, "unfound": Mark.UNFOUND}
_STATES = {
    "error": Mark.ERROR,
    "unfound": Mark.UNFOUND,
    "false answer": Mark.FALSE,
    "failed": Mark.FAILED,
    "new": Mark.NEW,
}
_SLOW = "slowest"
_NAMED = 12  # queries of each list that are shown with their texts


class RunRequest(Struct, frozen=True, kw_only=True):
    """Which run, and which of its queries."""

    run: Annotated[str, Meta(min_length=1, max_length=500, description="The id of the run.")]
    q: Annotated[str, Meta(max_length=200, description="Text in the id or the words of a query.")] = ""
    category: Annotated[str, Meta(max_length=500)] = ""
    show: Annotated[
        str, Meta(pattern="^(all|failed|new|errors|unfound)$", description="new: they did not fail in the baseline.")
    ] = "all"
    measure: Annotated[str, Meta(max_length=200, description="The measure to order by.")] = ""
    order: Annotated[str, Meta(pattern="^(worst|best|slowest|set)$", description="set: as in the golden set.")] = (
        "worst"
    )
    after: Annotated[str, Meta(max_length=1_000, description="Where the last page ended: its field more.")] = ""
    limit: Annotated[int, Meta(ge=1, le=500)] = 50


def show_run(index: Index, request: RunRequest) -> RunPage:
    """Return a run with the report on it, and its queries, the worst first."""
    run = require_run(index, request.run)
    measure, marks = choose_measure(run, request.measure), index.read_marks(run)
    positions = np.flatnonzero(marks & np.uint8(_SHOWN[request.show]))
    matches = index.search_queries(request.q, request.category)
    if matches is not None:
        positions = positions[np.isin(positions, matches, assume_unique=True, kind="table")]
    keys = _find_keys(index, run, measure, request.order)
    page, more = take_page(index, keys, positions, request.after, request.limit)
    columns = index.read_columns(run, [query.position for query in page])
    baseline = next((other.line.id for other in index.list_runs() if other.line.is_baseline), None)
    report = index.read_report(run.line.id)
    return RunPage(
        project=index.meta.get("name", index.folder.name),
        run=run.line,
        report=report,
        measures=run.measures,
        measure=measure,
        queries=tuple(describe_query(run, columns, place, query) for place, query in enumerate(page)),
        categories=index.list_categories(),
        counts={name: int(np.count_nonzero(marks & np.uint8(mark))) for name, mark in _SHOWN.items()},
        matching=len(positions),
        more=more,
        texts=_find_texts(index, report),
        baseline=baseline,
        index=index.find_state(),
    )


def _find_texts(index: Index, report: DecisionDocument | None) -> dict[str, str]:
    """Return the texts of the queries that a report names first."""
    if report is None:
        return {}
    named = [failure.query for failure in report.failures[:_NAMED]]
    named += [id_ for advice in report.recommendations for id_ in advice.queries[:_NAMED]]
    queries = {id_: index.find_query(id_) for id_ in dict.fromkeys(named)}
    return {id_: query.text for id_, query in queries.items() if query is not None}


def require_run(index: Index, id_: str) -> IndexedRun:
    """Return a run; an id that no run has is an error that names a similar one."""
    run = index.find_run(id_)
    if run is None:
        ids = [other.line.id for other in index.list_runs()]
        state = index.find_state()
        waiting = "; some runs are still being read" if state.waiting else ""
        raise NotThere(f"there is no run {id_!r}{did_you_mean(id_, ids)}{waiting}")
    return run


def choose_measure(run: IndexedRun, name: str) -> str:
    """Return the measure that was asked for, or the first of the run."""
    if name and name not in run.measures:
        raise UsageError(f"the run has no measure {name!r}{did_you_mean(name, run.measures)}")
    return name or next(iter(run.measures), "")


def take_page(
    index: Index, keys: NDArray[np.float64], positions: NDArray[np.int64], after: str, limit: int
) -> tuple[list[IndexedQuery], str | None]:
    """Return the first queries of some positions after one, by their keys, and the id of the last if there are more.

    A query without a key comes last; equal ones come as in the golden set.
    """
    last = index.find_query(after) if after else None
    if last is not None:
        positions = positions[find_later(keys, positions, last.position)]
    queries = index.read_queries(choose_first(keys, positions, limit).tolist())
    return queries, queries[-1].id if queries and limit < len(positions) else None


def find_later(keys: NDArray[np.float64], positions: NDArray[np.int64], place: int) -> NDArray[np.bool_]:
    """Return which of some positions come after one in the order of their keys."""
    own, others = _fill(keys[[place]])[0], _fill(keys[positions])
    later: NDArray[np.bool_] = (others > own) | ((others == own) & (positions > place))
    return later


def choose_first(keys: NDArray[np.float64], positions: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the first positions in the order of their keys; to sort all of very many would take longer."""
    own = _fill(keys[positions])
    if limit < len(own):
        bound = own.min()
        if np.count_nonzero(own == bound) < limit:  # often many share the first place, which slows down the rest
            bound = np.partition(own, limit - 1)[limit - 1]
        below = np.flatnonzero(own < bound)
        chosen = np.concatenate([below, np.flatnonzero(own == bound)[: limit - len(below)]])
        positions, own = positions[chosen], own[chosen]
    return positions[np.lexsort((positions, own))]


def _fill(keys: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(keys), math.inf, keys)


def sort_judgments(query: IndexedQuery) -> list[IndexedJudgment]:
    """Return the judgments of a query, the best grade that counts first; of a target, the most trusted source first."""
    return sorted(
        query.judgments,
        key=lambda own: (-own.decided, own.target, SOURCES.index(own.source), -own.grade, own.annotator),
    )


def describe_query(run: IndexedRun, columns: Columns, place: int, query: IndexedQuery) -> RunQuery:
    """Return a query of a run in a line; it stands at a place of the columns."""
    scores: dict[str, float | None] = {}
    missing: dict[str, str] = {}
    for row, name in enumerate(run.measures):
        code = int(columns.codes[row, place])
        value = float(columns.values[row, place])
        scores[name] = None if code or math.isnan(value) else value
        if code:
            missing[name] = run.reasons[code - 1]
    took = float(columns.values[-1, place])
    mark = int(columns.marks[place])
    return RunQuery(
        id=query.id,
        text=query.text,
        category=query.category,
        scores=scores,
        missing=missing,
        milliseconds=None if math.isnan(took) else took,
        states=tuple(name for name, flag in _STATES.items() if mark & flag),  # type: ignore[misc]
    )


def _find_keys(index: Index, run: IndexedRun, measure: str, order: str) -> NDArray[np.float64]:
    """Return for each query of the golden set the number by which the queries of a run are sorted, the least first."""
    if order == "set" or (not measure and order != _SLOW):
        return np.zeros(index.count_queries())
    values = index.read_series(run, None if order == _SLOW else measure)
    entry = run.line.find(measure)
    is_reversed = order == _SLOW or (order == "best") != bool(entry and entry.lower_is_better)
    return -values if is_reversed else values
