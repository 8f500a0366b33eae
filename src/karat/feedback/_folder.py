"""Reports, harvests and estimates from logs in Parquet files, by an engine: however many rows there are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from karat.core import GoldenSet
from karat.engine import Engine, LocalEngine, Operation, Source
from karat.feedback._counting import decode
from karat.feedback._exported import KEY, ORDER, list_columns
from karat.feedback._harvest import Harvest, make_harvest
from karat.feedback._merged import MERGED, pick_queries, rank_queries
from karat.feedback._parts import Counting, count_sessions
from karat.feedback._picking import MOST_LEARNT, HarvestPicker, HarvestPlan, HarvestSums
from karat.feedback._report import Ranking, make_report
from karat.feedback._rows import PARTIAL, TRAFFIC
from karat.feedback._traffic import Traffic, index_golden
from karat.files import new_folder
from karat.online import ExportFiles

if TYPE_CHECKING:
    from karat.schema.feedback import OnlineReport

T = TypeVar("T")
_SPOOLED = 32 << 20
"""Bytes of partial sums in memory before they are written."""


@dataclass(slots=True)
class Parts:
    """The partial sums of a log: those of traffic, and files with those of live queries."""

    traffic: Traffic
    folder: Path
    files: list[str] = field(default_factory=list)
    rows: int = 0

    def merge(self, kernel: Callable[..., Any], engine: Engine, schema: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
        """Yield what a kernel makes of the rows of each live query and document, in this process."""
        if not self.files:
            return
        here = engine if isinstance(engine, LocalEngine) else LocalEngine()
        operation = Operation(name="live queries", key="key", columns=PARTIAL, schema=schema, kernel=kernel)
        yield from here.process(operation, Source(paths=tuple(self.files)))


def report_folder(
    files: ExportFiles,
    golden: GoldenSet | None,
    engine: Engine,
    *,
    since: float | None,
    until: float | None,
    shown: int,
) -> OnlineReport:
    """Return the report on the log in files."""
    with count_parts(files, engine, Counting(golden=golden), since, until) as parts:
        ranking = Ranking(shown)
        kernel = partial(rank_queries, shown=shown, known=index_golden(golden))
        for frame in parts.merge(kernel, engine, MERGED):
            _merge_bodies(ranking, frame, Ranking)
    return make_report(parts.traffic, ranking, golden, store=files.name)


def harvest_folder(
    files: ExportFiles,
    golden: GoldenSet | None,
    engine: Engine,
    plan: HarvestPlan,
    *,
    since: float | None,
    until: float | None,
    most: int = MOST_LEARNT,
) -> Harvest:
    """Return the harvest of the log in files."""
    counting = Counting(golden=golden, lists=True, traffic=False)
    with count_parts(files, engine, counting, since, until) as parts:
        sums = HarvestPicker(None, plan, most).sums
        for frame in parts.merge(partial(pick_queries, golden=golden, plan=plan, most=most), engine, MERGED):
            _merge_bodies(sums, frame, HarvestSums)
    return make_harvest(sums, golden, plan, parts.traffic, parts.traffic.oddities)


def _merge_bodies(sums: Any, frame: pl.DataFrame, kind: type[Any]) -> None:
    for body in frame["body"]:
        sums.merge(decode(body, kind))


@contextmanager
def count_parts(
    files: ExportFiles, engine: Engine, counting: Counting, since: float | None, until: float | None
) -> Iterator[Parts]:
    """Yield the partial sums of the sessions in files, as long as the context is open."""
    columns = list_columns(queries=files.has_queries, events=files.has_events)
    operation = Operation(
        name="sessions", key=KEY, order=ORDER, columns=columns, schema=PARTIAL,
        kernel=partial(count_sessions, counting=counting),
    )  # fmt: skip
    place = engine.folder if isinstance(engine, LocalEngine) else None
    with new_folder(place or Path(tempfile.gettempdir())) as folder:
        parts = Parts(Traffic(), folder)
        if paths := files.list_paths(since, until):
            source = Source(paths=paths, within=files.list_limits(since, until))
            _spool(parts, engine.process(operation, source))
        yield parts


def _spool(parts: Parts, frames: Iterator[pl.DataFrame]) -> None:
    """Add up the rows of traffic, and write the others."""
    held, size = list[pl.DataFrame](), 0
    for frame in frames:
        for body in frame.filter(pl.col("kind") == TRAFFIC)["body"]:
            parts.traffic.merge(decode(body, Traffic))
        rows = frame.filter(pl.col("kind") != TRAFFIC)
        held.append(rows)
        size += int(rows.estimated_size())
        parts.rows += len(rows)
        if size > _SPOOLED:
            _write(parts, held)
            size = 0
    _write(parts, held)


def _write(parts: Parts, held: list[pl.DataFrame]) -> None:
    rows = pl.concat([pl.DataFrame(schema=PARTIAL), *held])
    held.clear()
    if len(rows):
        path = os.fspath(parts.folder / f"{len(parts.files):06}.parquet")
        rows.write_parquet(path)
        parts.files.append(path)
