"""``karat compare``: runs side by side, and how sure the difference is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from karat.cli._options import measures_option
from karat.cli._process import keep, tune
from karat.cli._progress import Progress, say
from karat.cli._scoring import pop_scoring, scoring_options
from karat.cli._table import emit


@click.command("compare")
@click.argument("runs", metavar="RUN_A RUN_B...", nargs=-1, required=True)
@measures_option
@click.option(
    "--by",
    metavar="FIELD",
    help="Also compare by category, type, intent, tier, block, or any field of the queries' metadata.",
)
@click.option("--per-query", is_flag=True, help="Show every query, starting with those that changed most.")
@click.option(
    "--bounds",
    is_flag=True,
    help="Show how far unjudged documents in the top k could move each difference of two runs.",
)
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project.  [default: the folder that RUN_A is in]"
)
@click.option(
    "--correction",
    type=click.Choice(["westfall-young", "holm", "bonferroni", "bh", "none"]),
    default="westfall-young",
    show_default=True,
    help="How to correct p for the number of tests; bh is Benjamini and Hochberg's.",
)
@scoring_options
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same numbers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(runs: tuple[str, ...], as_json: bool, folder: str | None, **options: Any) -> None:
    """Compare runs of karat eval, any answers that karat reads, or baseline files; RUN_A is the baseline.

    A project DIR stands for its newest complete run.

    For two runs, karat shows every measure with its interval and tests, the queries that lost and won most, how far the
    lists differ, and how the systems differ. More runs give a matrix of differences for each measure.

    Example: karat compare examples/hotel/baseline.json examples/hotel/runs/new.jsonl -m nDCG@10 --by category
    """
    tune(runs)
    from karat.cli._choosing import choose_run
    from karat.cli._compare_text import comparison_text
    from karat.core import UsageError
    from karat.projects import compare_runs, find_project, open_project
    from karat.projects.saved_runs import find_run
    from karat.schema import to_json

    if len(runs) > 2 and (options["by"] or options["per_query"] or options["bounds"]):
        raise UsageError("--by, --per-query and --bounds are for two runs; compare two at a time")
    runs = tuple(str(choose_run(run, None).path) if Path(run).is_dir() else run for run in runs)
    project = open_project(folder or find_project(find_run(runs[0])), **pop_scoring(options))
    with Progress() as progress:
        comparison = compare_runs(
            runs, project=project, brief=not as_json, say=say,
            progress=lambda *far: progress("comparing", *far), **options,
        )  # fmt: skip
    keep((project, comparison))
    emit(to_json(comparison) if as_json else comparison_text(comparison))
