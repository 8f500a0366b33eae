"""Options that several verbs have, in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from karat.core import UsageError

_LISTED = re.compile(r",\s*(?=[^\W\d])(?![^()]*\))")
"""The commas between the names of measures, which are not those between the parameters of one."""


def load_named_measures(
    _context: click.Context, _parameter: click.Parameter, measures: Iterable[str]
) -> tuple[str, ...]:
    """Import the modules of measures such as ``my_measures:Miss@5``, and return all without modules."""
    for measure in measures:
        if len(names := _LISTED.split(measure)) > 1:
            raise UsageError(f"{measure!r} names several measures; write -m {' -m '.join(names)}")
    if not any(":" in measure for measure in measures):
        return tuple(measures)
    from karat.cli._ending import note_own_code
    from karat.measures import load_measures

    note_own_code()
    return load_measures(measures, Path.cwd())


measures_option = click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    callback=load_named_measures,
    help="A measure such as nDCG@10, or MODULE:NAME for one of your own; can be repeated.",
)
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
