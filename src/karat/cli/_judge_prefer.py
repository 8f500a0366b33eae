"""``karat judge prefer``: which of two runs has the better answers."""

from __future__ import annotations

import click

from karat.cli._choosing import choose_run
from karat.cli._progress import Progress, say
from karat.cli._table import emit


@click.command("prefer", short_help="Ask a model which of two runs answers better, in both orders.")
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the runs, if they are not in its folder."
)
@click.option("--no-cache", is_flag=True, help="Ask everything again, and keep no reply.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(first: str, second: str, folder: str | None, no_cache: bool, as_json: bool) -> None:
    """Ask the model of [judges] for each query which of two answers is better, once in either order.

    If an answer is preferred in one order only, it is no better than the other: the judge prefers the place. The report
    shows how often that happened.

    Example: karat judge prefer new.jsonl old.jsonl
    """
    from karat.cli._judge_text import preference_text
    from karat.projects import open_project
    from karat.projects.judging import prefer_run, recording_judging
    from karat.schema import to_json

    runs = [choose_run(run, folder) for run in (first, second)]
    project = open_project(runs[0].project)
    with recording_judging(project, "judge prefer", say) as recording:
        with Progress() as progress:
            report = prefer_run(
                project, runs[0].path, runs[1].path, cache=not no_cache, progress=progress, recording=recording
            )
        emit(to_json(report) if as_json else preference_text(report))
