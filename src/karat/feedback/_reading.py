"""Reports and harvests of logs: of a store, or of Parquet files that were exported from one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from karat.core import GoldenSet, UsageError
from karat.feedback._extending import Whole, extend_report
from karat.feedback._harvest import Harvest, harvest
from karat.feedback._picking import HarvestPlan
from karat.feedback._report import SHOWN, describe_weight, format_moment, report_sessions, summarise_latency
from karat.feedback._sampling import (
    MOST_QUERIES,
    choose_parts,
    describe_empty,
    describe_empty_files,
    describe_parts,
    read_parts,
    refuse_reversed,
)
from karat.feedback._sessions import Oddities, Session
from karat.online import describe_missing, find_files, is_export, read_log
from karat.stats import ValueCounts

if TYPE_CHECKING:
    from karat.engine import Engine
    from karat.schema.feedback import OnlineReport


def report_log(
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    shown: int = SHOWN,
    most: int | None = MOST_QUERIES,
    engine: Engine | None = None,
    on_session: Callable[[Session], None] | None = None,
) -> OnlineReport:
    """Return a report on a log; ``since`` is included and ``until`` is not, in seconds since 1970.

    The log is a store, or the folder that :func:`karat.online.export_log` wrote as Parquet. If a store has more than
    ``most`` queries, what became of them is found out for some sessions, which stand for all; None looks at all
    sessions. Of a folder all sessions are looked at, by ``engine``: without one in this process. ``on_session`` gets
    each session of a store that is looked at, so that a caller who wants more of them need not read the log again.
    """
    refuse_reversed(since, until)
    if is_export(store):
        return _report_files(store, golden, since, until, shown, engine)
    require_local(store, engine)
    report = _report_store(store, golden, since, until, shown, most, on_session)
    return structs.replace(report, notes=(*report.notes, *describe_missing(store)))


def _report_store(
    store: str | os.PathLike[str],
    golden: GoldenSet | None,
    since: float | None,
    until: float | None,
    shown: int,
    most: int | None,
    on_session: Callable[[Session], None] | None,
) -> OnlineReport:
    oddities = Oddities()
    texts = {document.id: document.text for document in golden.documents} if golden else None
    with read_log(store) as log:
        totals = log.totals(since, until)
        parts = choose_parts(totals.queries, most)
        sessions = _show_each(read_parts(log, since, until, parts, oddities=oddities, texts=texts), on_session)
        report = report_sessions(sessions, golden, store=str(store), shown=shown, oddities=oddities)
        if not report.queries:
            return structs.replace(report, notes=(describe_empty(log),))
        if parts is None:
            return report
        latencies = ValueCounts()
        latencies.extend(log.latencies(since, until))
        counted = log.count_oddities(since, until)
    first, last = (format_moment(math.nan if time is None else time) for time in (totals.first, totals.last))
    weights = {describe_weight(report.estimated): describe_weight(totals.weight)}
    notes = describe_parts(parts, report.queries), *(weights.get(note, note) for note in report.notes)
    whole = Whole(totals=totals, latency=summarise_latency(latencies), parts=parts, oddities=counted)
    extended = extend_report(report, whole)
    return structs.replace(extended, first=first, last=last, notes=notes)


def _show_each(sessions: Iterator[Session], on_session: Callable[[Session], None] | None) -> Iterator[Session]:
    for session in sessions:
        if on_session is not None:
            on_session(session)
        yield session


def _report_files(
    place: str | os.PathLike[str],
    golden: GoldenSet | None,
    since: float | None,
    until: float | None,
    shown: int,
    engine: Engine | None,
) -> OnlineReport:
    from karat.engine import LocalEngine
    from karat.feedback._folder import report_folder

    files = find_files(place)
    report = report_folder(files, golden, engine or LocalEngine(), since=since, until=until, shown=shown)
    return report if report.queries else structs.replace(report, notes=(describe_empty_files(files.queries),))


def harvest_log(
    store: str | os.PathLike[str] = "karat.db",
    golden: GoldenSet | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    most: int | None = MOST_QUERIES,
    engine: Engine | None = None,
    **options: Any,
) -> Harvest:
    """Return a candidate for a golden set from a log; the options are those of :func:`harvest`.

    The log is a store or an exported folder, as for :func:`report_log`. Answers are searched for the words of the
    golden set's documents. If a store has more than ``most`` queries, some sessions stand for all; None reads all. What
    is still in the journal is not there, and a note says so: see :func:`karat.online.ingest`.
    """
    refuse_reversed(since, until)
    if is_export(store):
        return _harvest_files(store, golden, since, until, engine, HarvestPlan(**options))
    require_local(store, engine)
    oddities = Oddities()
    texts = {document.id: document.text for document in golden.documents} if golden else None
    with read_log(store) as log:
        parts = choose_parts(log.totals(since, until).queries, most)
        sessions = read_parts(log, since, until, parts, oddities=oddities, texts=texts)
        result = harvest(sessions, golden, oddities=oddities, **options)
        notes = result.report.notes if result.report.asked else (describe_empty(log),)
    if result.report.asked and parts is not None:
        notes = describe_parts(parts, result.report.asked), *notes
    return replace(result, report=structs.replace(result.report, notes=(*notes, *describe_missing(store))))


def _harvest_files(
    place: str | os.PathLike[str],
    golden: GoldenSet | None,
    since: float | None,
    until: float | None,
    engine: Engine | None,
    plan: HarvestPlan,
) -> Harvest:
    from karat.engine import LocalEngine
    from karat.feedback._folder import harvest_folder

    files = find_files(place)
    result = harvest_folder(files, golden, engine or LocalEngine(), plan, since=since, until=until)
    if result.report.asked:
        return result
    return replace(result, report=structs.replace(result.report, notes=(describe_empty_files(files.queries),)))


def require_local(store: str | os.PathLike[str], engine: Engine | None) -> None:
    """Refuse another engine than this process for a store: it reads files."""
    if engine is not None and engine.address != "local":
        raise UsageError(
            f"{engine.address} reads Parquet files, and {os.fspath(store)} is a store: export it first "
            "(karat online export STORE FOLDER --format parquet)"
        )
