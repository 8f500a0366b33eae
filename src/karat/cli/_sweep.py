"""``karat sweep``: try many variants of a configuration, and decide which of them may ship."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._asking import importable
from karat.cli._output import refuse_stdout
from karat.cli._progress import Progress, say
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import emit

if TYPE_CHECKING:
    from karat.experiments import Sweep


@click.command("sweep")
@click.argument("file", metavar="FILE")
@click.option("--policy", metavar="NAME|FILE", help="The policy of the gate.  [default: that of FILE or karat.toml]")
@click.option("--baseline", metavar="FILE", help="The baseline to compare the variants with.  [default: the project's]")
@click.option("--objective", metavar="MEASURE", help="Accept only variants that are better by this measure.")
@click.option(
    "--require-gain",
    is_flag=True,
    help="Accept only variants that are better by the objective, or by the first measure.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="Refuse more variants than this."
)
@click.option("--dry-run", is_flag=True, help="Only list the variants.")
@click.option("--again", is_flag=True, help="Ask every variant, even if it has a finished run.")
@click.option("-o", "--output", metavar="DIR", help="The folder for the runs.  [default: runs of the project]")
@click.option("--log", metavar="FILE", help="The file for the results.  [default: experiments.json of the project]")
@click.option(
    "--no-cache", is_flag=True, help="Keep no chunks, indexes and embeddings on disk: each variant makes all of them."
)
@scoring_options
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="The seed of the tests: the same seed gives the same numbers.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, /, file: str, **options: Any) -> None:
    """Try the variants in FILE, a grid or a list of changes to karat.toml, and compare each with the baseline.

    A variant is ACCEPTED if it is shown to be not worse, and better if you require that, after correction for the
    number of variants. If a sweep is interrupted, repeat the command to continue it where it stopped.

    Example: karat sweep sweep.toml --objective nDCG@5
    """
    from karat.cli._sweep_text import plan_text, sweep_text
    from karat.experiments import SweepSettings, plan_document, read_sweep, run_sweep, sweep_document
    from karat.schema import to_json

    refuse_stdout(options["output"])
    sweep = _override(read_sweep(file, limit=options["limit"]), options)
    if options["dry_run"]:
        plan = plan_document(sweep)
        emit(to_json(plan) if options["as_json"] else plan_text(plan))
        return
    importable(sweep.project)
    settings = SweepSettings(
        baseline=options["baseline"],
        runs=None if options["output"] is None else Path(options["output"]),
        log=None if options["log"] is None else Path(options["log"]),
        again=options["again"],
        cache=not options["no_cache"],
        seed=options["seed"],
        scoring=pop_scoring(options),
    )
    try:
        # What a system prints is not part of the results.
        with Progress() as progress, redirect_stdout(sys.stderr):
            report = sweep_document(run_sweep(sweep, settings, say=progress.say, progress=progress))
    except KeyboardInterrupt:
        say("interrupted; repeat the command to continue where it stopped")
        raise
    emit(to_json(report) if options["as_json"] else sweep_text(report))
    context.exit(3 if all(variant.error for variant in report.variants) else 0)


def _override(sweep: Sweep, options: dict[str, Any]) -> Sweep:
    """Return a sweep with what the command line chose instead."""
    from karat.experiments import objective_name

    if options["policy"] is not None:
        sweep = replace(sweep, policy=options["policy"])
    if options["objective"] is not None:
        sweep = replace(sweep, objective=objective_name(options["objective"]), require_gain=True)
    return replace(sweep, require_gain=True) if options["require_gain"] else sweep
