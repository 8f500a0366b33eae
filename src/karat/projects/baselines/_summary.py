"""The baseline of a project: read it, summarise it, and compare a run with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from karat.core import InputError, Run
from karat.evaluation import assume_depth
from karat.gate import Baseline, compare_document
from karat.projects._gating import baseline_path, evaluate_run, find_baseline, revise_baseline
from karat.projects._project import Project
from karat.schema import BaselineSummary, ComparisonDocument


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
        inconclusive=baseline.inconclusive,
        rebased=baseline.rebased,
        shrunk=baseline.shrunk,
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
    before = revise_baseline(project, recorded).evaluation
    candidate, _ = assume_depth(candidate, before)
    return compare_document([before.renamed(path.name), candidate.renamed(name or candidate.name)], project.golden)
