"""``karat golden judge``: let a machine fill in the grades of a pool."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli._asking import importable
from karat.cli._output import STDOUT, take_output
from karat.cli._progress import Progress, say
from karat.cli._table import emit


@click.command("judge", short_help="Let a machine grade what a pool lists, marked as such.")
@click.argument("pool", metavar="POOL")
@click.option(
    "--golden",
    "--project",
    "folder",
    default=".",
    metavar="DIR",
    help="The project whose [judges] to ask.  [default: the current folder]",
)
@click.option(
    "--by",
    default="model",
    show_default=True,
    metavar="WHO",
    help="Who grades: model; overlap, which compares words; or your own function, as package.module:name.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Write the rows here, completely or not at all; - is standard output.",
)
@click.option("--no-cache", is_flag=True, help="Ask everything again, and keep no reply.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(pool: str, folder: str, by: str, output: str, no_cache: bool, as_json: bool) -> None:
    """Grade the pairs of POOL, a file of 'karat golden pool', from 0 to 3, and write them to another file.

    Rows that people have graded stay as they are. Grades by a machine have the source bootstrapped and the name of the
    judge. 'karat golden merge' takes them; if a person judges the same pair, the person's grade counts.

    Example: karat golden judge to-judge.jsonl --golden examples/hotel --by overlap -o graded.jsonl
    """
    from karat.cli._judge_text import pool_judging_text
    from karat.core import UsageError
    from karat.projects import open_project
    from karat.projects.judging import judge_pool, recording_judging
    from karat.schema import to_json

    if output not in STDOUT and Path(output).exists():
        raise UsageError(f"--output {output}: exists already; choose a new name")
    project = open_project(folder)
    importable(project.config.folder)
    with recording_judging(project, "golden judge", say) as recording:
        with take_output(output, as_json=as_json) as place, Progress() as progress:
            report = judge_pool(
                project, Path(pool), place, by=by, cache=not no_cache, progress=progress, recording=recording
            )
        if output not in STDOUT:
            emit(to_json(report) if as_json else pool_judging_text(report))
