"""Explaining a run of a project: the run and its system are found, and the result is a document."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from karat.causes import Diagnosis, diagnose
from karat.core import KaratError, Provenance, Run
from karat.diagnosis._against import find_changes
from karat.diagnosis._document import make_document
from karat.diagnosis._worse import Falls, find_falls, list_measures, score_both
from karat.evaluation import Evaluation, deepest_cutoff, score_run
from karat.files import shorten_path
from karat.projects import Project, baseline_path, find_baseline, make_listed_run, require_complete, revise_baseline
from karat.projects.saved_runs import ChosenRun, choose_run, find_run
from karat.reports import printable
from karat.runs import describe_run, prepare_system, read_any_run
from karat.schema import ExplainDocument
from karat.systems import System

Say = Callable[[str], None]
Progress = Callable[[str, int, int], None]
_NAMED = 4


def explain(
    path: str | Path | ChosenRun,
    *,
    query: str | None = None,
    against: str | Path | None = None,
    golden: str | Path | None = None,
    system: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    ask: bool = True,
    say: Say | None = None,
    progress: Progress | None = None,
) -> ExplainDocument:
    """Return why the queries of a run fail, or one of them; ``path`` is a run, or a project, whose newest run is meant.

    ``against`` is another run: then the queries that became worse are explained, with the stage that moved each
    document. The system of the project, or ``system``, is asked again with one thing changed if it is the one that made
    the run; without ``ask`` only the run is read. ``parameters`` are added to those of the project's own retriever.
    """
    chosen = path if isinstance(path, ChosenRun) else choose_run(path, golden=golden)
    project = chosen.open_project()
    if parameters:
        project = project.with_parameters(parameters)
    run = read_any_run(chosen.path, project.golden, say=say)
    require_complete(project.golden, run)
    other = None if against is None else _read_other(against, project, say)
    baseline, unread = _read_baseline(project) if other is None else (None, "")
    accepted = None if baseline is None else make_listed_run(baseline)
    falls, unscored = _compare(project, run, other, baseline)
    subject, note = _find_system(project, run, system, say, progress) if ask else (None, "the system was not asked")
    measures = project.config.eval.measures
    cut = deepest_cutoff(measures) if measures else None
    try:
        diagnosis = diagnose(
            project.golden,
            run,
            cut=cut or None,
            unit=project.scoring["unit"],
            system=subject,
            against=other or accepted,
        )
    finally:
        _close(subject)
    document = make_document(diagnosis, run, query=query, against=other, baseline=accepted, cut=cut, falls=falls)
    return structs.replace(
        document,
        file=str(shorten_path(chosen.path)),
        note="; ".join(filter(None, (note or _describe_gaps(diagnosis), unread, unscored))),
    )


def _compare(project: Project, run: Run, other: Run | None, baseline: Evaluation | None) -> tuple[Falls | None, str]:
    """Return by which measures each query is worse than in another run or the baseline; None and why if not known."""
    measures = list_measures(project)
    try:
        if other is not None:
            now, was = score_both(project, run, other, measures)
        elif baseline is not None and baseline.has_queries:
            now, was = score_run(project.golden, run, measures, **project.scoring), baseline
        else:
            return None, ""
    except KaratError as error:
        return None, f"the queries were not compared by measures, but by what was lost: {error}"
    return find_falls(now, was, measures), ""


def _describe_gaps(diagnosis: Diagnosis) -> str:
    """Return what could not be asked again, and why."""
    lab = diagnosis.lab
    turns = sum(lab.depends_on_session(case) for case in diagnosis.cases)
    notes = [f"{turns:,} turns of sessions were not asked again: of them only the run was read"] if turns else []
    if lab.failed:
        notes.append(f"the system failed while it was asked again: {lab.failed}")
    return "; ".join(notes)


def _read_baseline(project: Project) -> tuple[Evaluation | None, str]:
    """Return the baseline of a project, or None and why it cannot be used; a project may have none."""
    if not os.path.lexists(baseline_path(project)):
        return None, ""
    try:
        baseline = find_baseline(project)
        if baseline is None:
            return None, ""
        return revise_baseline(project, baseline, list_measures(project)).evaluation, ""
    except KaratError as error:
        return None, f"the baseline was not used: {error}"


def _read_other(path: str | Path, project: Project, say: Say | None) -> Run:
    return read_any_run(find_run(path, golden=project.config.folder, say=say), project.golden, say=say)


def _describe_other_system(configured: Provenance, made_by: Provenance) -> str:
    """Return how the configured system differs from the one that made a run, and what to do."""
    changes = find_changes(configured, made_by)
    if changes and all(change.key == "source" for change in changes):
        commit = "" if made_by.origin.dirty else made_by.origin.code
        return f"the code of the system has changed since; {f'check out {commit}, or ' if commit else ''}evaluate again"
    changed = [printable(change.part, 60) for change in changes]
    differences = f" ({', '.join(changed[:_NAMED])}{' ...' if len(changed) > _NAMED else ''})" if changed else ""
    return (
        f"it was made by another system than the one that is configured{differences}; "
        "name its system (--system, --parameter), set karat.toml as it was, or evaluate again"
    )


def _close(system: System | None) -> None:
    """Let a system end what it has opened: connections, a server, a collection with the documents."""
    if system is not None and system.close is not None:
        system.close()


def _find_system(
    project: Project, run: Run, path: str | None, say: Say | None, progress: Progress | None
) -> tuple[System | None, str]:
    """Return the system that made a run, with its documents, or None and the reason."""
    try:
        system = project.system(path, say=say, progress=progress)
    except KaratError as error:
        return None, f"only the run was read: {error}"
    described = describe_run(project.golden, system, project.settings())
    if run.provenance.fingerprint != described.fingerprint:
        _close(system)
        return None, f"only the run was read: {_describe_other_system(described, run.provenance)}"
    prepare_system(system, project.golden, project.settings())
    return system, ""
