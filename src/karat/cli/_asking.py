"""Asking the system of a project every question, with progress, into a file that is kept."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.cli._progress import Progress, say

if TYPE_CHECKING:
    from karat.core import Run
    from karat.projects import Project
    from karat.runs import Settings


def importable(folder: Path) -> None:
    """Let a system be named by its module: one in the current folder, or in that of the project."""
    sys.path[:0] = dict.fromkeys((str(Path.cwd()), str(folder.resolve())))


def ask_project(project: Project, settings: Settings, *, output: str | None, system: str | None, **options: Any) -> Run:
    """Make the run of a project; ``options`` are those of :meth:`Project.system`."""
    from karat.projects import run_path
    from karat.runs import make_run

    importable(project.config.folder)
    # Whatever the system prints is none of the results.
    with Progress() as progress, redirect_stdout(sys.stderr):
        asked = project.system(system, say=say, progress=progress, **options)
        path = run_path(Path(output or project.config.folder / "runs"), project.golden, asked, settings)
        try:
            run = make_run(project.golden, asked, settings, output=path, progress=lambda *far: progress("asking", *far))
        except KeyboardInterrupt:
            say("interrupted; the same command goes on where this one was")
            raise
    say(f"run saved as {path}")
    return run
