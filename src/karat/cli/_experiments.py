"""``karat experiments``: what was tried, and what came of it."""

from __future__ import annotations

import click

from karat.cli._table import emit
from karat.cli._verbs import FolderlessGroup

_LOG = click.option(
    "--log", metavar="FILE|DIR", default=".", help="The log, or its folder.  [default: experiments.json here]"
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("experiments", cls=FolderlessGroup, instead="karat experiments list --log {}")
def command() -> None:
    """Read experiments.json, to which karat sweep adds what it tried, or a file in fit's format.

    Example: karat experiments list
    """


@command.command("list", short_help="List all experiments.")
@_LOG
@click.option("--accepted", is_flag=True, help="Only those that were accepted.")
@_JSON
def list_(log: str, accepted: bool, as_json: bool) -> None:
    """List the experiments of a log in their order, with results and verdicts.

    Example: karat experiments list --accepted
    """
    from karat.cli._experiments_text import list_text
    from karat.experiments import log_path, read_log
    from karat.schema import to_json

    experiments = read_log(log_path(log))
    if accepted:
        experiments = tuple(experiment for experiment in experiments if experiment.verdict == "ACCEPTED")
    # As they stand in the file, so that the keys of other tools are there too; the type is ExperimentLog.
    records = [experiment.record for experiment in experiments]
    emit(to_json({"experiments": records}) if as_json else list_text(experiments))


@command.command("show", short_help="Show one experiment.")
@click.argument("id_", metavar="ID")
@_LOG
@_JSON
def show(id_: str, log: str, as_json: bool) -> None:
    """Show the experiment ID: what was changed, what it scored, and why it was accepted or rejected.

    Example: karat experiments show exp-001
    """
    from karat.cli._experiments_text import experiment_text
    from karat.experiments import find_experiment, log_path, read_log
    from karat.schema import to_json

    path = log_path(log)
    experiment = find_experiment(read_log(path), id_, str(path))
    emit(to_json(experiment.record) if as_json else experiment_text(experiment))


@command.command("diff", short_help="Compare two experiments.")
@click.argument("first", metavar="ID")
@click.argument("second", metavar="ID")
@_LOG
@_JSON
def diff(first: str, second: str, log: str, as_json: bool) -> None:
    """Compare two experiments: the keys of the configuration and the results in which they differ.

    Example: karat experiments diff exp-001 exp-002
    """
    from karat.cli._experiments_text import diff_text
    from karat.experiments import diff_experiments, find_experiment, log_path, read_log
    from karat.schema import to_json

    path = log_path(log)
    experiments = read_log(path)
    difference = diff_experiments(*(find_experiment(experiments, id_, str(path)) for id_ in (first, second)))
    emit(to_json(difference) if as_json else diff_text(difference))
