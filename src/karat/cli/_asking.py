"""Asking the system of a project every question, with progress; the options that say how."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._ending import guard_exit, note_own_code
from karat.cli._output import refuse_stdout
from karat.cli._progress import Progress, say
from karat.config import Settings, setting_types
from karat.files import shorten_path

if TYPE_CHECKING:
    from karat.projects import AskedRun, Project
    from karat.telemetry import Sending

_NO_OPTION = ("patience", "warm_up", "ready_timeout")
"""Settings for karat.toml only."""
_DEFAULTS = {"k": "10, or as many as the measures look at"}
"""Defaults that depend on something else."""


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each setting of :class:`karat.config.Settings`; None means that it was not given."""
    kinds = setting_types()
    for setting in reversed(fields(Settings)):
        if setting.name in _NO_OPTION:
            continue
        kind, least = kinds[setting.name], setting.metadata["least"]
        default = _DEFAULTS.get(setting.name) or (
            f"{setting.default:g}" if setting.default and kind is not bool else ""
        )
        name = f"--{setting.name.replace('_', '-')}"
        command = click.option(
            *(("-k", name) if name == "--k" else (name,)),
            is_flag=kind is bool,
            type=None if kind is bool else click.IntRange(min=least) if least is not None else kind,
            default=None,
            help=setting.metadata["help"] + (f"  [default: {default}]" if default else ""),
        )(command)
    return command


def given_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given on the command line."""
    return {name: options[name] for name in setting_types() if options.get(name) is not None}


def importable(folder: Path) -> None:
    """Let a system be named by its module: one in the current folder, or in that of the project."""
    note_own_code()
    sys.path[:0] = dict.fromkeys((str(Path.cwd()), str(folder.resolve())))


def admit_system(project: Project, path: str | None = None) -> None:
    """Let the system of a project be imported, unless it is the built-in pipeline."""
    if not project.uses_pipeline(path):
        importable(project.config.folder)


parameter_option = click.option(
    "--parameter",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Passed to your retriever, as [eval.parameters] in karat.toml; can be repeated.",
)


def naming_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a run, and that set the parameters of the user's own system."""
    return click.option("--label", metavar="TEXT", default="", help="A name for the run, shown instead of its commit.")(
        parameter_option(command)
    )


def set_parameters(project: Project, assignments: Sequence[str]) -> Project:
    """Return the project with the parameters of the command line."""
    parameters = read_parameters(assignments)
    return project.with_parameters(parameters) if parameters else project


def read_parameters(assignments: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of the command line, such as ``alpha=0.5``, by name."""
    from karat.core import InputError, UsageError
    from karat.files import parse_toml

    parameters: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"--parameter {assignment}: write NAME=VALUE, such as alpha=0.5")
        try:
            parameters[name.strip()] = parse_toml(f"value = {text}", "--parameter")["value"]
        except InputError:  # a text without quotes
            parameters[name.strip()] = text
    return parameters


def ask(
    project: Project,
    settings: Settings,
    *,
    output: str | None,
    system: str | None,
    label: str = "",
    resume: bool = True,
    **options: Any,
) -> AskedRun:
    """Make the run of a project; ``options`` are those of :meth:`Project.system`."""
    from karat.projects import ask_project

    refuse_stdout(output)
    admit_system(project, system)
    guard_exit()
    folder = None if output is None else Path(output).absolute()  # the system may change the current folder
    # Whatever the system prints is not part of the results.
    with Progress() as progress, redirect_stdout(sys.stderr):
        try:
            asked_run = ask_project(
                project,
                settings,
                make_system=lambda: project.system(system, say=say, progress=progress, **options),
                folder=folder,
                label=label,
                resume=resume,
                say=progress.say,
                progress=lambda *far: progress("asking", *far),
            )
        except KeyboardInterrupt:
            goes_on = "the same command goes on where this one was" if resume else "--resume goes on where this one was"
            say(f"interrupted; {goes_on}")
            raise
    say(f"run saved as {shorten_path(asked_run.path)}")
    return asked_run


def finish_sending(sending: Sending | None) -> None:
    """Wait for the collector of telemetry, if there is one, and say what it has not taken."""
    if sending is not None and (note := sending.finish()):
        say(note)
