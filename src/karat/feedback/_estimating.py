"""How attractive each document is to those who ask a query, by the estimators of clicks, over logs of any size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from karat.core import UsageError
from karat.feedback._counting import decode
from karat.feedback._folder import count_parts
from karat.feedback._merged import MERGED, make_cells, wrap
from karat.feedback._pairs import count_cells, count_pairs, list_pairs
from karat.feedback._parts import Counting
from karat.feedback._reading import require_local
from karat.feedback._rebuild import read_sessions
from karat.feedback._rows import add_rows, join_frames
from karat.feedback._sampling import refuse_reversed
from karat.online import describe_missing, find_files, is_export, read_log
from karat.schema.feedback import ClickEstimate, ClickEstimator, ClickReport
from karat.stats.clicks import (
    LEAST_IMPRESSIONS,
    Attractions,
    Cells,
    ClickTotals,
    estimate_coec,
    estimate_ctr,
    estimate_ips,
    estimate_propensities,
    estimate_sdbn,
)

if TYPE_CHECKING:
    from karat.engine import Engine

LISTED = 10
"""Pairs that a report lists."""
ESTIMATES: dict[str, Any] = {
    "query": pl.String,
    "document": pl.String,
    "shown": pl.Int64,
    "clicks": pl.Int64,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
_PAIR = {"query": pl.String, "document": pl.String}


def estimate_log(
    store: str | os.PathLike[str] = "karat.db",
    estimator: ClickEstimator = "snips",
    *,
    since: float | None = None,
    until: float | None = None,
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
    engine: Engine | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield how attractive each document is to those who ask a query: a row for each pair, in no particular order.

    The log is a store, or a folder as for :func:`report_log`. ``query`` is the text without case, punctuation and
    articles; ``value`` is null for pairs that were shown less than ``minimum`` times. Values are the same to the last
    bit from a store and from files, however these are divided. With a folder the memory does not grow with the number
    of rows; the estimators are those of :mod:`karat.stats.clicks`.
    """
    refuse_reversed(since, until)
    estimate = partial(estimate_pairs, estimator=estimator, minimum=minimum, confidence=confidence)
    if estimator not in _MAKERS:
        raise UsageError(f"unknown estimator {estimator!r}; known: {', '.join(_MAKERS)}")
    yield pl.DataFrame(schema=ESTIMATES)  # so that there are columns, also without rows
    if not is_export(store):
        require_local(store, engine)
        with read_log(store) as log:
            queries = count_pairs(read_sessions(log, since, until)).queries
        cells = count_cells(queries)
        pairs = pl.DataFrame(list_pairs(queries), schema=_PAIR, orient="row")
        yield estimate(cells, pairs, totals=ClickTotals.of(cells))
        return
    from karat.engine import LocalEngine

    runner = engine or LocalEngine()
    counting = Counting(lists=True, traffic=False)
    with count_parts(find_files(store), runner, counting, since, until) as parts:
        totals = ClickTotals()
        for frame in parts.merge(add_totals, runner, MERGED):
            for body in frame["body"]:
                totals.merge(decode(body, ClickTotals))
        yield from parts.merge(partial(estimate_rows, estimate=partial(estimate, totals=totals)), runner, ESTIMATES)


def report_clicks(
    store: str | os.PathLike[str] = "karat.db",
    estimator: ClickEstimator = "snips",
    *,
    since: float | None = None,
    until: float | None = None,
    minimum: int = LEAST_IMPRESSIONS,
    confidence: float = 0.95,
    listed: int = LISTED,
    engine: Engine | None = None,
) -> ClickReport:
    """Return what :func:`estimate_log` says, with the ``listed`` pairs of query and document that were shown most.

    It is the same from a store and from files, on any engine. Only the pairs that it lists are held.
    """
    frames = estimate_log(
        store, estimator, since=since, until=until, minimum=minimum, confidence=confidence, engine=engine
    )
    sums = pl.DataFrame(schema={"pairs": pl.Int64, "estimated": pl.Int64, "shown": pl.Int64, "clicks": pl.Int64})
    most = pl.DataFrame(schema=ESTIMATES)
    for frame in frames:
        counts = frame.select(pairs=pl.len().cast(pl.Int64), estimated=pl.col("value").count().cast(pl.Int64))
        sums = pl.concat([sums, counts.hstack(frame.select(pl.col("shown", "clicks").sum()))]).sum()
        most = pl.concat([most, frame]).sort("shown", "query", "document", descending=[True, False, False]).head(listed)
    rows = most.with_columns(high=pl.when(pl.col("high").is_finite()).then("high")).iter_rows(named=True)
    estimates = tuple(ClickEstimate(**row) for row in rows)
    empty = () if sums["pairs"].item() else ("nobody was shown a document" + _in_span(since, until),)
    missing = () if is_export(store) else describe_missing(store)
    return ClickReport(
        store=os.fspath(store), estimator=estimator, minimum=minimum, confidence=confidence,
        **sums.row(0, named=True), estimates=estimates, notes=(*empty, *missing),
    )  # fmt: skip


def _in_span(since: float | None, until: float | None) -> str:
    return "" if since is None and until is None else " in this span"


def add_totals(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the totals of the clicks of some queries."""
    totals = ClickTotals()
    for frame in join_frames(frames):
        totals.merge(ClickTotals.of(make_cells(add_rows(frame))[0]))
    yield wrap(totals)


def estimate_rows(
    frames: Iterable[pl.DataFrame], *, estimate: Callable[[Cells, pl.DataFrame], pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yield the estimates of some queries."""
    for frame in join_frames(frames):
        yield estimate(*make_cells(add_rows(frame)))


def estimate_pairs(
    cells: Cells, pairs: pl.DataFrame, *, totals: ClickTotals, estimator: str, minimum: int, confidence: float
) -> pl.DataFrame:
    """Return the estimates of some pairs of query and document, given the totals of all."""
    estimate = _MAKERS[estimator](cells, totals, {"whole": totals, "minimum": minimum, "confidence": confidence})
    frame = pairs.head(cells.item_count).with_columns(
        shown=estimate.n,
        clicks=estimate.clicks,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
    )
    frame = frame.select(pl.col(name).cast(type_) for name, type_ in ESTIMATES.items())
    return frame.filter(pl.Series(cells.count_by_item(cells.shown) > 0)).with_columns(pl.col("value").fill_nan(None))


def _make_ips(cells: Cells, totals: ClickTotals, options: Mapping[str, Any], *, normalised: bool) -> Attractions:
    looked = estimate_propensities(totals, confidence=options["confidence"])
    return estimate_ips(cells, looked, self_normalised=normalised, **options)


_MAKERS: dict[str, Callable[[Cells, ClickTotals, Mapping[str, Any]], Attractions]] = {
    "coec": lambda cells, _, options: estimate_coec(cells, **options),
    "ctr": lambda cells, _, options: estimate_ctr(cells, **options),
    "ips": partial(_make_ips, normalised=False),
    "sdbn": lambda cells, _, options: estimate_sdbn(cells, **options),
    "snips": partial(_make_ips, normalised=True),
}
