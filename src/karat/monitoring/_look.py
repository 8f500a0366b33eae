"""A look at live traffic: the windows of a log, measured in the order of time. Looking changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from karat.config import OnlineConfig
from karat.monitoring._answers import measure_answers
from karat.monitoring._origins import Origin, find_drift, find_normaliser, read_origins
from karat.monitoring._told import read_told
from karat.monitoring._traffic import LOOK_BACK, Past, compare_lists, compare_p95, measure_traffic
from karat.monitoring._windows import DAY, Window, partition
from karat.online import LogReader
from karat.projects import Project
from karat.schema.watch import WatchValue
from karat.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A complete window with its signals."""

    window: Window
    signals: dict[str, WatchValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The windows of a log as of some time."""

    windows: tuple[Window, ...]
    """All of the history, complete or not, in the order of time."""
    measured: tuple[Measured, ...] = field(default=())
    """The newest of those that are complete."""


def look_at(store: Store, config: OnlineConfig, project: Project | None, now: float) -> Look:
    """Return the windows of a store up to a time, with the signals of the newest complete ones.

    The same records give the same windows and signals, in whatever order they came.
    """
    since = (now - config.history_hours * 3600) // DAY * DAY
    seconds = config.minutes * 60
    cells = store.alerts.count_cells(since, now, seconds)
    windows = partition(cells, seconds=seconds, samples=config.samples, until=now - config.late_seconds)
    complete = [window for window in windows if window.state == "complete"]
    shown = complete[-config.shown :]
    if not shown:
        return Look(windows=windows)
    past = Past()
    for window in complete[: -len(shown)]:
        _remember_times(store, window, config.least, past)
    history = read_origins(store.alerts.origins(since, shown[-1].end))
    return Look(windows=windows, measured=tuple(_measure(store, shown, config, project, past, history, since)))


def _remember_times(store: Store, window: Window, least: int, past: Past) -> None:
    """Add the p95 of a window that is not shown to what is normal."""
    normaliser = find_normaliser(read_origins(store.alerts.origins(window.start, window.end)))
    if normaliser is not None:
        past.add_latencies(list(store.latencies(window.start, window.end)), normaliser, least)


def _measure(
    store: Store,
    windows: Sequence[Window],
    config: OnlineConfig,
    project: Project | None,
    past: Past,
    history: Sequence[Origin],
    since: float,
) -> Iterator[Measured]:
    reader, least, cites = LogReader(store), config.least, cache(partial(store.alerts.has_citations, since))
    for window in windows:
        queries = list(reader.queries(window.start, window.end))
        before = list(reader.queries(window.start - LOOK_BACK, window.start))
        repeats = read_told(reader, (*before, *queries), window.start, window.end)
        own = read_origins(store.alerts.origins(window.start, window.end))
        known = [origin for origin in history if origin.first < window.end]
        normaliser = find_normaliser(own)
        signals = {
            **measure_answers(queries, project, normaliser, least, cites),
            "index": find_drift("index", own, known, len(queries)),
            "normaliser": find_drift("normaliser", own, known, len(queries)),
            "rank_similarity": compare_lists(queries, past, normaliser, least),
            "p95": compare_p95(queries, past, normaliser, least, config.p95_ms),
            **measure_traffic(queries, before, repeats, least),
        }
        yield Measured(window=window, signals=signals)
        if normaliser is not None:
            past.add(queries, normaliser, least)
