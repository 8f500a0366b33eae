"""What the tools do in a project: each calls the library function that the verb of the command line calls."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from msgspec import structs

from karat.core import InputError, UsageError, shorten
from karat.mcp._arguments import (
    CheckArguments,
    CompareArguments,
    ExplainArguments,
    GateArguments,
    ListArguments,
    NoArguments,
)
from karat.mcp._place import Place
from karat.projects import Project
from karat.projects.saved_runs import ChosenRun, choose_run
from karat.schema import ComparisonDocument, DecisionDocument, ExplainDocument, RunListing

_DATASHEETS = ("DATASHEET.md", "README.md")


def check(place: Place, arguments: CheckArguments) -> DecisionDocument:
    """Ask the system of the project every question, save the run, and return the decision, as ``karat check`` does."""
    from karat.golden.lint import check_configured
    from karat.projects import (
        ask_project,
        decide_asked,
        open_project,
        read_gate,
        refuse_golden,
        report_document,
    )

    project = open_project(place.folder)
    lint = check_configured(project.golden, project.config)
    if lint.errors:
        raise refuse_golden(lint.errors, str(place.folder))
    policy, baseline = read_gate(project)
    _admit(project)
    asked_run = ask_project(
        project,
        project.settings(),
        make_system=lambda: project.system(None, say=place.say, progress=place.progress),
        label=arguments.label,
        resume=False,
        say=place.say,
        progress=lambda *far: place.progress("asking", *far),
    )
    result, sending = decide_asked(project, asked_run, policy=policy, baseline=baseline)
    document = report_document(result, file=asked_run.path.name, lint=lint.document(), brief=True)
    if sending is not None and (note := sending.finish()):
        place.say(note)
    return document


def gate(place: Place, arguments: GateArguments) -> DecisionDocument:
    """Return the decision on a saved run, as ``karat gate`` does."""
    from karat.projects import decide_run, report_document

    chosen = _choose(place, arguments.run)
    result = decide_run(chosen, admit=_admit, say=place.say)
    return report_document(result, file=chosen.path.name, brief=True)


def compare(place: Place, arguments: CompareArguments) -> ComparisonDocument:
    """Return two runs held against each other, as ``karat compare`` does."""
    from karat.projects import baseline_path, compare_runs, open_project

    project = open_project(place.folder)
    before = _choose(place, arguments.before).path if arguments.before else baseline_path(project)
    if not arguments.before and not before.exists():
        hint = "name a run as before, or let a person record one with 'karat baseline update'"
        raise InputError("the project has no baseline", source=str(before), hint=hint)
    candidate = _choose(place, arguments.candidate).path
    return compare_runs(
        (before, candidate),
        arguments.measures,
        project=project,
        brief=True,
        say=place.say,
        progress=lambda *far: place.progress("comparing", *far),
    )


def explain(place: Place, arguments: ExplainArguments) -> ExplainDocument:
    """Return why a query failed, or all that did, as ``karat explain`` does."""
    from karat.diagnosis import explain as explain_run

    chosen = _choose(place, arguments.run)
    _admit(chosen.open_project())
    document = explain_run(
        chosen, query=arguments.query or None, ask=arguments.ask, say=place.say, progress=place.progress
    )
    # Of all queries there is a group for each cause, which names them; each of them can be asked for.
    return document if arguments.query else structs.replace(document, explained=())


def list_saved(place: Place, arguments: ListArguments) -> RunListing:
    """Return the newest runs, as ``karat runs list`` does."""
    from karat.projects.saved_runs import list_runs

    return list_runs(
        place.folder,
        arguments.measures,
        last=arguments.last,
        progress=lambda *far: place.progress("scoring", *far),
    )


def show_policy(place: Place, _: NoArguments) -> str:
    """Return the rules of the gate, as ``karat gate --show-policy`` does."""
    from karat.projects import open_project
    from karat.projects import show_policy as make_document
    from karat.reports import describe_policy

    return describe_policy(make_document(open_project(place.folder)))


def read_datasheet(place: Place, _: NoArguments) -> str:
    """Return what somebody wrote about the golden set."""
    from karat.config import read_config
    from karat.files import decode, read_bytes

    golden = read_config(place.folder).golden
    folder = golden if golden.is_dir() else golden.parent
    for path in (folder / name for name in _DATASHEETS):
        if path.is_file() and _is_inside(folder, path):
            return decode(read_bytes(path), str(path))
    raise InputError(f"there is no {' or '.join(_DATASHEETS)}", source=str(folder))


def _choose(place: Place, name: str) -> ChosenRun:
    """Return the run of the project that has a name, or the newest; nothing outside of the project is read."""
    if not name:
        return choose_run(place.folder)
    inside = place.folder / name
    path = inside if os.path.lexists(inside) else Path(name) if os.path.lexists(name) else None
    if name == "-" or (path is not None and not _is_inside(place.folder, path)):
        raise UsageError(f"{shorten(name)} is not in the project; list_runs shows its runs")
    try:
        return choose_run(path or name, golden=place.folder)
    except OSError:  # the name is longer than that of any file
        raise UsageError(f"{shorten(name)} is no run of the project; list_runs shows them") from None


def _is_inside(folder: Path, path: Path) -> bool:
    """Return whether a path is in a project, or in its folder of runs, which may be a link to a larger disk."""
    return any(path.resolve().is_relative_to(own.resolve()) for own in (folder, folder / "runs"))


def _admit(project: Project) -> None:
    """Let the system of a project be imported by the name of its module, as the command line does."""
    if not project.uses_pipeline(None):
        sys.path[:0] = dict.fromkeys((str(Path.cwd()), str(project.config.folder.resolve())))
