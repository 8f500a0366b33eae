"""The decision on a saved run of a project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from karat.core import Run, count_things
from karat.projects._attempts import refuse_older
from karat.projects._gating import GateResult, gate_run
from karat.projects._project import Project, open_project
from karat.projects.saved_runs import ChosenRun, describe_outdated
from karat.reports import printable
from karat.runs import read_any_run


def decide_run(
    chosen: ChosenRun,
    *,
    policy: str | None = None,
    baseline: str | Path | None = None,
    elsewhere: Mapping[str, float] | None = None,
    seed: int = 0,
    scoring: dict[str, Any] | None = None,
    admit: Callable[[Project], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> GateResult:
    """Return the decision on a run that was saved, by the policy and against the baseline of its project.

    If the run was chosen because it is the newest, there is no decision after a newer attempt to ask the system failed.
    Warnings are added where newer runs were passed over, and where the run is not of the system as it is now;
    ``admit`` is called before with the project, so that the code of its own system can be looked at. ``say`` is called
    with notes on the run file. The other arguments are those of :func:`gate_run` and :func:`open_project`.
    """
    project = open_project(chosen.project, **(scoring or {}))
    candidate = read_any_run(chosen.path, project.golden, say=say)
    result = gate_run(project, candidate, policy=policy, baseline=baseline, elsewhere=elsewhere, seed=seed)
    if not chosen.newest:
        return result
    if chosen.failed is not None:
        result = refuse_older(result, chosen.failed)
    if admit is not None:
        admit(project)
    return _note_newer(_note_outdated(result, candidate), chosen)


def _note_outdated(result: GateResult, run: Run) -> GateResult:
    """Return the result with a warning if its run was not made by the system as it is now."""
    difference = describe_outdated(result.project, run)
    if not difference:
        return result
    warning = (
        f"WARNING: the newest run was made by another system than the current one: {difference}; "
        "karat check asks the current one"
    )
    return replace(result, caveats=(warning, *result.caveats))


def _note_newer(result: GateResult, chosen: ChosenRun) -> GateResult:
    """Return the result with a warning if there are newer runs, which it says nothing about."""
    if not chosen.undecided:
        return result
    first, *others = chosen.undecided
    number = f"{count_things(len(others) + 1, 'newer run')} {'were' if others else 'was'}"
    warning = (
        f"WARNING: {number} passed over, and this decision says nothing about {'them' if others else 'it'}: "
        f"{printable(first, 200)}{' ...' if others else ''}"
    )
    return replace(result, caveats=(warning, *result.caveats))
