"""``karat judge calibrate``: hold a judge against people's labels."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli._choosing import choose_run
from karat.cli._table import emit


@click.command("calibrate", short_help="Compare a judge with people's labels.")
@click.argument("labels", metavar="LABELS")
@click.argument("run", default=".", metavar="[RUN|DIR]")
@click.option("-j", "--judge", default="", metavar="JUDGE", help="The judge, if several judged the run.")
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the run, if the run is not in its folder."
)
@click.option("--pool", metavar="FILE", help="Compare the grades in this file of karat golden judge with LABELS.")
@click.option("--highest", type=float, metavar="LABEL", help="The best label people could give.  [default: 1, or 3]")
@click.option(
    "--positive", type=float, metavar="LABEL", help="The lowest label of a good answer.  [default: the middle]"
)
@click.option(
    "--threshold", type=float, metavar="SCORE", help="The lowest score that counts as good.  [default: nearest]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    labels: str,
    run: str,
    judge: str,
    folder: str | None,
    pool: str | None,
    highest: float | None,
    positive: float | None,
    threshold: float | None,
    as_json: bool,
) -> None:
    """Show how far the judge of a run agrees with LABELS: a file of 'karat judge sample' in which "label" is filled in.

    Every number has its interval. Beside it are how far people agree with each other, and what a judge would reach that
    always gives the same label. The labels correct the mean over all answers.

    Example: karat judge calibrate labels.jsonl examples/hotel --judge faithfulness
    """
    from karat.cli._judge_calibration_text import calibration_text
    from karat.projects import open_project
    from karat.projects.judging import Scale, calibrate_judge, calibrate_pool
    from karat.schema import to_json

    scale = Scale(highest=highest or (3.0 if pool else 1.0), positive=positive, threshold=threshold)
    if pool:
        report = calibrate_pool(Path(pool), Path(labels), scale=scale)
    else:
        chosen = choose_run(run, folder)
        report = calibrate_judge(
            open_project(chosen.project), chosen.path, Path(labels), judge=judge, scale=scale
        )  # fmt: skip
    emit(to_json(report) if as_json else calibration_text(report))
