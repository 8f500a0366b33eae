"""``karat stability``: whether a system answers the same question alike in other words, and again."""

from __future__ import annotations

import click

from karat.cli._choosing import choose_run
from karat.cli._options import measures_option, run_project_option
from karat.cli._progress import say
from karat.cli._table import emit


@click.command("stability")
@click.argument("run", metavar="RUN|DIR")
@measures_option
@run_project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every query.")
def command(run: str, measures: tuple[str, ...], folder: str | None, as_json: bool) -> None:
    """Show how far the scores of RUN differ between the wordings of a question, and between its repeats.

    For each measure, karat shows the mean over the queries of the worst value, of the mean, and of the spread, which is
    the difference between the best and the worst. If the system gives answers, it also shows how many questions
    converge: every answer cites something relevant, and all cite the same.

    Example: karat stability examples/hotel/runs/pipeline-2026-11-16-0a1b2c3d.jsonl -m R@5
    """
    from karat.cli._stability_text import stability_text
    from karat.projects import measure_stability, open_project
    from karat.runs import read_any_run
    from karat.schema import to_json

    chosen = choose_run(run, folder)
    project = open_project(chosen.project)
    report = measure_stability(project, read_any_run(chosen.path, project.golden, say=say), measures)
    emit(to_json(report) if as_json else stability_text(report))
