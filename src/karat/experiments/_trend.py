"""Trends: how the quality of a project changed from run to run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from karat.core import Measure, UsageError
from karat.evaluation import default_measures
from karat.experiments._history import History, HistoryReader, Point, Progress
from karat.projects import Project
from karat.projects.saved_runs import RunFile, find_runs, leave_out_variants
from karat.schema import (
    TrendHistory,
    TrendOtherRun,
    TrendReport,
    TrendRun,
    TrendSetChange,
    TrendSkippedFile,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The runs of a project, scored."""

    project: Project
    fingerprint: str
    """Of the golden set."""
    measures: tuple[str, ...]
    histories: tuple[History, ...]
    """Runs with other settings (another k, a sample) are another history; the one with the newest run is first."""
    apart: tuple[Point, ...] = ()
    """Runs without a question of the golden set, which are not scored."""
    skipped: tuple[tuple[RunFile, str], ...] = ()
    """Files that could not be used, and why."""
    variants: int = 0
    """How many runs of a folder were left out because a sweep tried them."""


def read_trend(
    paths: Sequence[str | Path] = (".",),
    measures: Sequence[str] = (),
    *,
    golden: str | Path | None = None,
    last: int | None = None,
    progress: Progress | None = None,
) -> Trend:
    """Read the runs of a project, or some run files, and score each once.

    ``golden`` names the project of runs that are kept elsewhere: files, or a folder of them. With ``last`` at most that
    many of the newest runs with questions of the project's golden set are read. Files that are damaged or not finished
    do not stop it: they are in ``skipped``. Of a folder, the variants of sweeps are left out, unless there is nothing
    else: they were tried, and are not what the project was. Files that are named are all read.
    """
    if last is not None and last < 1:
        raise UsageError(f"last={last}; choose at least 1")
    project, files = find_runs(paths, golden=golden)
    kept = leave_out_variants(project, files) if Path(paths[0]).is_dir() else files
    chosen = measures or project.config.eval.measures or default_measures(project.golden)
    names = tuple(dict.fromkeys(str(Measure.parse(name)) for name in chosen))
    reader = HistoryReader(project, names)
    reader.read(kept, last, progress)
    return Trend(
        project=project,
        fingerprint=reader.fingerprint,
        measures=names,
        histories=reader.histories,
        apart=reader.apart,
        skipped=reader.skipped,
        variants=len(files) - len(kept),
    )


def trend_document(trend: Trend) -> TrendReport:
    """Return a trend as the document that ``karat trend --json`` prints."""
    golden = trend.project.golden
    return TrendReport(
        golden={"name": golden.name, "version": golden.version, "fingerprint": trend.fingerprint},
        measures=trend.measures,
        histories=tuple(
            TrendHistory(asked=history.asked, runs=tuple(_run(point, trend.measures) for point in history.points))
            for history in trend.histories
        ),
        apart=tuple(
            TrendOtherRun(
                **_file(point.file),
                title=point.evaluation.provenance.title,
                queries=len(point.evaluation.queries),
                golden=dict(point.evaluation.provenance.golden),
            )
            for point in trend.apart
        ),
        skipped=tuple(TrendSkippedFile(**_file(file), reason=reason) for file, reason in trend.skipped),
        variants=trend.variants,
    )


def _file(file: RunFile) -> dict[str, Any]:
    return {
        "run": file.path.name,
        "path": str(file.path),
        "date": file.day.isoformat(),
        "date_from": file.day_from,
        "time": None if file.time is None else f"{file.time:%Y-%m-%dT%H:%M:%SZ}",
        "time_from": file.time_from,
    }


def _run(point: Point, measures: Sequence[str]) -> TrendRun:
    evaluation, change = point.evaluation, point.set_change
    return TrendRun(
        **_file(point.file),
        title=evaluation.provenance.title,
        queries=len(evaluation.queries),
        failed=len(evaluation.failures),
        measures={name: _number(evaluation.mean(name)) for name in measures},
        p95=_number(evaluation.latency_of("p95")),
        changes=point.changes,
        golden_change=None
        if change is None
        else TrendSetChange(
            added=change.added, removed=change.removed, judgments=change.judgments, documents=change.documents
        ),
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
