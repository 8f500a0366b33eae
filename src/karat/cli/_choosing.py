"""The run that a path names, with notes about how it was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._progress import say

if TYPE_CHECKING:
    from karat.projects import ChosenRun

_NAMED = 5


def choose_run(path: str, folder: str | None) -> ChosenRun:
    """Return the run to use; for a folder it is the newest complete run, and a note says which one that is."""
    from karat import projects

    run = projects.choose_run(path, golden=folder)
    for reason in run.passed_over[:_NAMED]:
        say(f"passed over: {reason}")
    if len(run.passed_over) > _NAMED:
        say(f"passed over: {len(run.passed_over) - _NAMED:,} more")
    for note in run.future[:_NAMED]:
        say(f"{note}, which is in the future; it is ordered by the time of its file")
    if run.newest:
        say(f"the newest complete run is {run.path}")
    return run
