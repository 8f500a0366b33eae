"""The run that a path names: a file, or the newest of a project."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from karat.projects._attempts import read_attempt
from karat.projects._gating import find_project
from karat.projects._project import Project, open_project
from karat.projects.saved_runs._files import VARIANT, choose_newest, find_runs
from karat.projects.saved_runs._names import find_namesakes
from karat.schema.attempts import FailedAttempt


@dataclass(frozen=True, kw_only=True)
class ChosenRun:
    """The file of a run, and the folder of its project."""

    path: Path
    project: Path
    newest: bool = False
    """Whether the file was chosen because it is the newest complete run of its project."""
    passed_over: tuple[str, ...] = ()
    """Newer files that were not chosen, each with the reason."""
    future: tuple[str, ...] = ()
    """Files that claim a date that is still to come, each with that date; they are dated by the time of their file."""
    namesakes: tuple[Path, ...] = ()
    """The files of older runs that have the same name."""
    failed: FailedAttempt | None = None
    """A newer attempt to ask the system that failed, if the file was chosen because it is the newest."""
    opened: Project | None = field(default=None, repr=False, compare=False)
    """The project, if it was read to choose the run."""

    @property
    def undecided(self) -> tuple[str, ...]:
        """The names of newer files that were not chosen, with the reason: all but what a sweep tried."""
        folder = f"{self.path.parent}{os.sep}"
        return tuple(why.removeprefix(folder) for why in self.passed_over if not why.endswith(VARIANT))

    def open_project(self) -> Project:
        """Return the project of the run; it is not read again if it was read to choose the run."""
        return self.opened or open_project(self.project)


def choose_run(path: str | Path, *, golden: str | Path | None = None, configured: bool = False) -> ChosenRun:
    """Return the run that a path names: a run file, or the newest complete run of a project or of its folder ``runs``.

    What is not a file is the label, title, commit or file of a run of the project.

    ``golden`` is the project, if it is not the folder that the path is in. With ``configured`` a folder means the
    newest run of the system that karat.toml configures: not one with other parameters, and not a variant of a sweep.
    """
    if not Path(path).is_dir():
        named, *namesakes = find_namesakes(path, golden=golden)
        return ChosenRun(path=named, project=Path(golden or find_project(named)), namesakes=tuple(namesakes))
    folder = Path(path).resolve()
    is_runs = folder.name == "runs" and not (folder / "runs").is_dir()
    project = golden or (folder.parent if is_runs else None)
    opened, files = find_runs([path], golden=project)
    file, passed_over = choose_newest(opened, files, source=str(path), configured=configured)
    return ChosenRun(
        path=file.path,
        project=Path(project or path),
        newest=True,
        passed_over=passed_over,
        future=tuple(f"{other.path} is dated {other.future}" for other in files if other.future),
        failed=read_attempt(file.path.parent, file.time),
        opened=opened,
    )
