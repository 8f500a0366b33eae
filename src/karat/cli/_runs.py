"""``karat runs``: list the saved runs of a project, show one, convert one, and remove old ones."""

from __future__ import annotations

import sys

import click

from karat.cli._choosing import choose_run
from karat.cli._options import measures_option
from karat.cli._progress import Progress, say
from karat.cli._table import emit, escaped, tell
from karat.cli._verbs import FolderlessGroup
from karat.core import count_things

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("runs", cls=FolderlessGroup, instead="karat runs list {}")
def command() -> None:
    """The runs that karat eval and karat check saved in a project's folder runs.

    Example: karat runs list examples/hotel
    """


@command.command("list", short_help="List the runs with their names, dates and means.")
@click.argument("folder", default=".", metavar="[DIR]")
@measures_option
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="Only the newest runs.")
@_JSON
def list_(folder: str, measures: tuple[str, ...], last: int, as_json: bool) -> None:
    """List the runs of project DIR, the newest first, scored on its current golden set.

    A run is called by its label, or by its system and commit. * marks the run of the baseline.

    Example: karat runs list examples/hotel --last 5 -m nDCG@5
    """
    from karat.cli._runs_text import listing_text
    from karat.projects.saved_runs import list_runs
    from karat.schema import to_json

    with Progress() as progress:
        listing = list_runs(folder, measures, last=last, progress=lambda *far: progress("scoring", *far))
    emit(to_json(listing) if as_json else listing_text(listing))


@command.command("show", short_help="Show one run: where it comes from, and its means.")
@click.argument("run", metavar="RUN|DIR")
@click.option(
    "--golden", "--project", metavar="DIR", help="The project of the run.  [default: the folder that the run is in]"
)
@measures_option
@_JSON
def show(run: str, golden: str | None, measures: tuple[str, ...], as_json: bool) -> None:
    """Show RUN: a file, or the label, title or commit of a run of the project in the current folder.

    For a project DIR, karat takes its newest complete run.

    Example: karat runs show examples/hotel
    """
    from karat.cli._runs_text import details_text
    from karat.projects.saved_runs import describe_saved_run
    from karat.schema import to_json

    chosen = choose_run(run, golden)
    details = describe_saved_run(chosen.path, measures, golden=chosen.project)
    emit(to_json(details) if as_json else details_text(details))


@command.command("convert", short_help="Write a run for another tool, or read one from it.")
@click.argument("source", metavar="RUN")
@click.argument("destination", metavar="FILE")
@click.option("--to", default="karat", show_default=True, metavar="FORMAT", help="Format to write.")
@click.option("--golden", metavar="DIR", help="The golden set of a RUN that another program made.")
@click.option("-k", "--k", type=click.IntRange(min=1), help="How many hits such a program was asked for.")
@_JSON
def convert(source: str, destination: str, to: str, golden: str | None, k: int | None, as_json: bool) -> None:
    """Read RUN, any file of runs that karat reads, and write its traces to FILE.

    Formats: karat, agent, blocks, openinference, genai, genai-memory, mlflow, langfuse. Standard error lists what karat
    noticed when reading, and what the new format cannot hold.

    Example: karat runs convert runs/new.jsonl spans.jsonl --to openinference
    """
    from karat.golden import open_set
    from karat.runs import convert_run
    from karat.schema import to_json

    conversion = convert_run(source, destination, to, golden=open_set(golden) if golden else None, k=k)
    for note in conversion.notes:
        say(note)
    for part in conversion.lost:
        say(f"{to} cannot hold {part.what} ({part.traces:,} of {conversion.traces:,} traces)")
    noun = "trace" if conversion.traces == 1 else "traces"
    failed = f", {conversion.failed:,} of them failed" if conversion.failed else ""
    text = f"{escaped(conversion.written)}: {conversion.traces:,} {noun}{failed}"
    emit(to_json(conversion) if as_json else text)


@command.command("prune", short_help="Remove old runs.")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "--keep", type=click.IntRange(min=1), default=20, show_default=True, help="How many of the newest runs to keep."
)
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
@_JSON
def prune(folder: str, keep: int, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove the runs of project DIR except the newest.

    The baseline's run also stays, and so do runs that experiments.json names, unfinished ones of the last day, and
    files that are not karat runs.

    Example: karat runs prune examples/hotel --keep 10 --dry-run
    """
    from karat.cli._runs_text import pruning_text
    from karat.core import UsageError
    from karat.projects.saved_runs import prune_runs
    from karat.schema import to_json

    pruning = prune_runs(folder, keep=keep, dry_run=True)
    if pruning.removed and not dry_run:
        if not yes:
            if sys.stdin is None or not sys.stdin.isatty():
                raise UsageError(
                    f"{count_things(len(pruning.removed), 'run')} would be removed; add --yes, or --dry-run to see them"
                )
            for run in pruning.removed:
                tell(escaped(run.file))
            click.confirm(f"Remove {count_things(len(pruning.removed), 'run')}?", abort=True, err=True)
        pruning = prune_runs(folder, keep=keep)
    emit(to_json(pruning) if as_json else pruning_text(pruning))
