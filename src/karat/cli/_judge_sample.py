"""``karat judge sample``: draw answers for people to label."""

from __future__ import annotations

import click

from karat.cli._choosing import choose_run
from karat.cli._output import STDOUT, take_output
from karat.cli._table import emit, printable


@click.command("sample", short_help="Draw answers at random for people to label.")
@click.argument("run", default=".", metavar="[RUN|DIR]")
@click.option("-n", "--n", "count", type=click.IntRange(1), default=100, show_default=True, help="How many answers.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another number draws other answers.")
@click.option(
    "--refusals",
    is_flag=True,
    help="Also draw refused answers and unanswerable questions, for the judge refusal.",
)
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the run, if the run is not in its folder."
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Write the rows here, completely or not at all; - is standard output.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, count: int, seed: int, refusals: bool, folder: str | None, output: str, as_json: bool) -> None:
    """Write answers of a run for people to label, with the question, the texts and the reference; one record per line.

    People fill in "label", from 0 (bad) to 1 (good), and "annotator". The judge's score is not shown, because it would
    sway them. 'karat judge calibrate' takes the file back. Refused answers are left out, because most judges give them
    no score.

    Example: karat judge sample examples/hotel --n 100 -o labels.jsonl
    """
    from karat.projects import open_project
    from karat.projects.judging import sample_labels
    from karat.schema import to_json

    chosen = choose_run(run, folder)
    project = open_project(chosen.project)
    with take_output(output, as_json=as_json) as place:
        report = sample_labels(project, chosen.path, place, count=count, seed=seed, refusals=refusals)
    if output in STDOUT:
        return
    text = f"{printable(report.output, 200)}: {report.drawn} of {report.answers} answers; fill in label and annotator"
    if report.refused:
        text += f"\n{report.refused} are left out: refused, or to questions that have no answer (--refusals draws them)"
    emit(to_json(report) if as_json else text)
