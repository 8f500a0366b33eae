"""The baseline of a project: read it, summarise it, and compare a run with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from karat.core import InputError, Run
from karat.gate import Baseline, compare_document
from karat.projects._gating import baseline_path, evaluate_run, find_baseline, find_project, revise_baseline
from karat.projects._project import Project
from karat.projects._saved_runs import find_runs, newest_run
from karat.schema import BaselineSummary, ComparisonDocument


@dataclass(frozen=True, kw_only=True)
class ChosenRun:
    """The file of a run, and the folder of its project."""

    path: Path
    project: Path
    newest: bool = False
    """Whether the file was chosen because it is the newest complete run of its project."""
    passed_over: tuple[str, ...] = ()
    """Newer files that are not complete runs on the golden set, each with the reason."""
    future: tuple[str, ...] = ()
    """Files that claim a date that is still to come, each with that date; they are dated by the time of their file."""


def choose_run(path: str | Path, *, golden: str | Path | None = None) -> ChosenRun:
    """Return the run that a path names: a run file, or the newest complete run of a project or of its folder ``runs``.

    ``golden`` is the project, if it is not the folder that the path is in.
    """
    if not Path(path).is_dir():
        return ChosenRun(path=Path(path), project=Path(golden or find_project(path)))
    folder = Path(path).resolve()
    is_runs = folder.name == "runs" and not (folder / "runs").is_dir()
    project = golden or (folder.parent if is_runs else None)
    file, passed_over = newest_run([path], golden=project)
    _, files = find_runs([path], golden=project)
    future = tuple(f"{other.path} is dated {other.future}" for other in files if other.future)
    return ChosenRun(path=file.path, project=Path(project or path), newest=True, passed_over=passed_over, future=future)


def read_project_baseline(project: Project, chosen: str | Path | None = None) -> tuple[Path, Baseline]:
    """Return the path of a project's baseline, or of the one that was chosen, and what it holds; none is an error."""
    path = baseline_path(project, chosen)
    baseline = find_baseline(project, chosen)
    if baseline is None:
        raise InputError("there is no baseline yet", source=str(path), hint="'karat baseline update RUN' records one")
    return path, baseline


def summarise_baseline(path: str | Path, baseline: Baseline) -> BaselineSummary:
    """Return the document of a baseline, which ``karat baseline show --json`` prints."""
    evaluation, provenance = baseline.evaluation, baseline.evaluation.provenance
    return BaselineSummary(
        file=str(path),
        name=provenance.name,
        recorded=baseline.recorded,
        forced=baseline.forced,
        rebased=baseline.rebased,
        golden=provenance.golden,
        fingerprint=provenance.fingerprint,
        system=provenance.system,
        settings=provenance.settings,
        queries=len(evaluation.queries),
        repeats=max(1, len(evaluation.repeats)) if evaluation.has_queries else 0,
        failed=len(evaluation.failures),
        means=_replace_nan(evaluation.means),
        latency={stage: _replace_nan(times) for stage, times in evaluation.latency.items()},
    )


def _replace_nan(table: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in table.items()}


def diff_baseline(
    project: Project, run: Run, *, name: str | None = None, baseline: str | Path | None = None
) -> ComparisonDocument:
    """Return how a run compares with the project's baseline, or with another one, without a decision.

    The run is scored with the measures of the baseline. ``name`` is how the document names the run, such as its file.
    """
    path, recorded = read_project_baseline(project, baseline)
    candidate = evaluate_run(project, run, recorded.evaluation.means)
    pair = [revise_baseline(project, recorded).evaluation.renamed(path.name), candidate.renamed(name or candidate.name)]
    return compare_document(pair, project.golden)
