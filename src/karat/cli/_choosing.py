"""The run that a path names, with notes about how it was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.cli._progress import say

if TYPE_CHECKING:
    from karat.projects.saved_runs import ChosenRun

_NAMED = 5


def choose_run(path: str, folder: str | None, *, configured: bool = False) -> ChosenRun:
    """Return the run to use; for a folder it is the newest complete run, and a note says which one that is.

    With ``configured`` it is the newest of the system that karat.toml configures.
    """
    from karat.projects import describe_attempt, saved_runs

    run = saved_runs.choose_run(path, golden=folder, configured=configured)
    for reason in run.passed_over[:_NAMED]:
        say(f"passed over: {reason}")
    if len(run.passed_over) > _NAMED:
        say(f"passed over: {len(run.passed_over) - _NAMED:,} more")
    if run.namesakes:
        say(saved_runs.describe_namesakes(path, run.path, run.namesakes))
    for note in run.future[:_NAMED]:
        say(f"{note}, which is in the future; it is ordered by the time of its file")
    if run.failed is not None:
        say(describe_attempt(run.failed))
    if run.newest:
        say(f"the newest complete run{' of the configured system' if configured else ''} is {run.path}")
    return run
