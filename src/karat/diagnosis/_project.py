"""Explaining a run of a project: the run and its system are found, and the result is a document."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from karat.causes import UNANSWERABLE, UNKNOWN, Case, Diagnosis, diagnose
from karat.core import InputError, KaratError, Provenance, Run, Trace, did_you_mean, shorten
from karat.diagnosis._against import find_changes, find_moves
from karat.diagnosis._hints import find_hints
from karat.evaluation import deepest_cutoff
from karat.files import shorten_path
from karat.projects import Project, baseline_path, find_baseline, make_listed_run, require_complete, revise_baseline
from karat.projects.saved_runs import ChosenRun, choose_run, find_run
from karat.reports import printable
from karat.runs import describe_run, prepare_system, read_any_run
from karat.schema import CauseGroup, ExplainDocument, SystemChange
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
    accepted, unread = _read_baseline(project) if other is None else (None, "")
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
    document = make_document(diagnosis, run, query=query, against=other, baseline=accepted, cut=cut)
    return structs.replace(
        document,
        file=str(shorten_path(chosen.path)),
        note="; ".join(filter(None, (note or _describe_gaps(diagnosis), unread))),
    )


def _describe_gaps(diagnosis: Diagnosis) -> str:
    """Return what could not be asked again, and why."""
    lab = diagnosis.lab
    turns = sum(lab.depends_on_session(case) for case in diagnosis.cases)
    notes = [f"{turns:,} turns of sessions were not asked again: of them only the run was read"] if turns else []
    if lab.failed:
        notes.append(f"the system failed while it was asked again: {lab.failed}")
    return "; ".join(notes)


def make_document(
    diagnosis: Diagnosis,
    run: Run,
    *,
    query: str | None = None,
    against: Run | None = None,
    baseline: Run | None = None,
    cut: int | None = None,
) -> ExplainDocument:
    """Return a diagnosis as the document that ``karat explain --json`` prints.

    With ``against``, another run, it is about the queries that became worse. ``baseline`` is an accepted run, which
    tells what was found before. ``cut`` is the rank below which both runs lose documents; by default that is the k of
    each.
    """
    first = (
        {trace.query: trace for trace in reversed(against.traces) if not trace.paraphrase and not trace.repeat}
        if against
        else {}
    )
    shown = [case for case in diagnosis.cases if case.query.id in diagnosis.causes]
    if against is not None:
        places = _find_cut(against, cut, diagnosis)
        shown = [case for case in shown if case.query.id in first and _became_worse(case, first[case.query.id], places)]
    if query is not None:
        shown = [_find_case(diagnosis, query)]
    kept = {case.query.id for case in shown}
    unjudged = frozenset(case.query.id for case in diagnosis.cases if case.is_unjudged and not case.trace.error)
    causes = {id_: evidence for id_, evidence in diagnosis.causes.items() if id_ in kept}
    earlier = against or baseline
    changes = () if earlier is None else find_changes(run.provenance, earlier.provenance)
    advise = partial(_advise, shown, changes, query=query, earlier="the other run" if against else "the baseline")
    groups = tuple(map(advise, replace(diagnosis, causes=causes).groups))
    explained = []
    for case in shown:
        row = diagnosis.explain(case, full=query is not None)
        moved = find_moves(case, first[case.query.id], diagnosis.lab) if case.query.id in first else ()
        explained.append(structs.replace(row, moved=moved))
    return ExplainDocument(
        run=run.provenance.title,
        file="",
        against=None if against is None else against.provenance.title,
        baseline=None if baseline is None else baseline.provenance.title,
        method="trace" if diagnosis.lab.system is None else "counterfactual",
        note="",
        cut=diagnosis.cases[0].cut if diagnosis.cases else 1,
        queries=len(diagnosis.cases),
        failed=len(diagnosis.causes.keys() - unjudged),
        summary=_summarise(groups, unjudged, worse=against is not None, query=query),
        hints=tuple(find_hints(diagnosis)),
        groups=groups,
        what_if=diagnosis.what_if,
        explained=tuple(explained),
        changes=changes,
    )


def _advise(
    cases: Sequence[Case], changes: Sequence[SystemChange], group: CauseGroup, *, query: str | None, earlier: str
) -> CauseGroup:
    """Return a group without a known cause with what is known: that an earlier run had found what it lost."""
    if group.cause != UNKNOWN:
        return group
    count = sum(case.was_found for case in cases if case.query.id in group.queries)
    if count:
        what = f"what {count:,} of them lost" if count < len(group.queries) else "what is lost"
        names = [printable(change.part, 60) for change in changes[:_NAMED]]
        more = " ..." if len(changes) > _NAMED else ""
        since = f", {', '.join(names)}{more}" if names else ""
        return structs.replace(group, fix=f"{earlier} had found {what}: look at what changed since{since}")
    return group if query is None else structs.replace(group, fix="look at what beat its relevant documents")


def _summarise(groups: tuple[CauseGroup, ...], unjudged: frozenset[str], *, worse: bool, query: str | None) -> str:
    """Return the first line: what to fix."""
    which = "became worse" if worse else "lost something relevant"
    if not groups and query is None and worse:
        return "no query lost more that is relevant; karat compare shows what moved among the documents that were found"
    if not groups:
        return f"query {shorten(query)} lost nothing relevant" if query else f"no query {which}"
    first = groups[0]
    if query is not None:
        return f"{first.title}: {first.fix}"
    if first.cause == UNANSWERABLE and not worse:
        count = len(first.queries)
        return (
            f"{first.title}: {count:,} {'query' if count == 1 else 'queries'} without an answer got some; {first.fix}"
        )
    # A query without an answer, or for which nothing is judged relevant, has nothing to lose.
    losing = {group.cause: len({*group.queries} - unjudged) for group in groups if worse or group.cause != UNANSWERABLE}
    if not losing.get(first.cause):
        return f"{first.title}: nothing is judged relevant for {len(first.queries):,} queries; {first.fix}"
    total = f"{losing[first.cause]:,} of the {sum(losing.values()):,} queries that {which}"
    known = next((group for group in groups[1:] if group.cause != UNANSWERABLE), None)
    more = f"; next is {known.title}: {losing[known.cause]:,}" if first.cause == UNKNOWN and known else ""
    if losing.get(UNKNOWN, 0) > losing[first.cause]:
        more = f"; {losing[UNKNOWN]:,} have no known cause"
    return f"{first.title}: {total}{more}; {first.fix}"


def _find_case(diagnosis: Diagnosis, query: str) -> Case:
    for case in diagnosis.cases:
        if case.query.id == query:
            return case
    ids = [case.query.id for case in diagnosis.cases]
    known = did_you_mean(query, ids) or f"; it has {', '.join(map(shorten, ids[:3]))} ..."
    raise InputError(f"the run has no query {shorten(query)}{known}")


def _became_worse(case: Case, before: Trace, cut: int) -> bool:
    return bool(case.trace.error) or replace(case, trace=before, cut=cut).loss < case.loss


def _find_cut(run: Run, cut: int | None, diagnosis: Diagnosis) -> int:
    """Return the rank below which another run loses documents: a smaller k than its own is a reason to be worse."""
    k = run.provenance.settings.get("k")
    if isinstance(k, int) and k > 0:
        return min(cut or k, k)
    return diagnosis.cases[0].cut if diagnosis.cases else 1


def _read_baseline(project: Project) -> tuple[Run | None, str]:
    """Return the accepted run of a project, or None and why it cannot be used; a project may have none."""
    if not os.path.lexists(baseline_path(project)):
        return None, ""
    try:
        baseline = find_baseline(project)
        return (make_listed_run(revise_baseline(project, baseline).evaluation), "") if baseline else (None, "")
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
