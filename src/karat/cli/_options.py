"""Options that several verbs have, in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

project_option = click.option(
    "--golden", "--project", "folder", default=".", metavar="DIR", help="The project.  [default: the current folder]"
)
run_project_option = click.option(
    "--golden",
    "--project",
    "folder",
    metavar="DIR",
    help="The project of the run.  [default: the folder that the run is in]",
)
_baseline_option = click.option(
    "--baseline", metavar="FILE", help="The baseline to compare with.  [default: baseline.json of the project]"
)
_policy_option = click.option(
    "--policy", metavar="NAME|FILE", help="A policy by name, or a TOML file.  [default: that of karat.toml]"
)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what a run is held against, and by which rules."""
    return _baseline_option(_policy_option(command))
