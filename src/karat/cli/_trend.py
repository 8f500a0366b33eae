"""``karat trend``: quality over time, from the saved runs."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli._options import measures_option
from karat.cli._progress import Progress
from karat.cli._table import emit


@click.command("trend")
@click.argument("paths", metavar="[DIR|RUN...]", nargs=-1)
@measures_option
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the newest N runs.  [default: all]")
@click.option(
    "--golden", "--project", metavar="DIR", help="The project of the runs.  [default: the folder that they are in]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--svg", metavar="FILE", help="Draw a line for each metric into this file, whose name ends with .svg.")
def command(
    paths: tuple[str, ...],
    measures: tuple[str, ...],
    last: int | None,
    golden: str | None,
    as_json: bool,
    svg: str | None,
) -> None:
    """Score the runs in DIR/runs, or the named ones, and show them from the oldest to the newest.

    karat scores all runs with the current golden set; if the set changed between two runs, a mark says so. Runs without
    a question of the set are listed separately, and so are files that cannot be read. Of DIR, karat leaves out the
    variants of sweeps, which were only tried; it shows every file that is named.

    Example: karat trend examples/hotel -m nDCG@5 --svg trend.svg
    """
    from karat.cli._report import write_report
    from karat.cli._trend_text import trend_svg, trend_text
    from karat.core import InputError, UsageError
    from karat.experiments import read_trend, trend_document
    from karat.schema import to_json

    if svg is not None and not svg.lower().endswith(".svg"):  # --svg runs/* would write over a run
        raise UsageError(f"--svg {svg}: name a file that ends with .svg")
    with Progress() as progress:
        trend = read_trend(
            paths or (golden or ".",),
            measures,
            golden=golden,
            last=last,
            progress=lambda *far: progress("scoring", *far),
        )
    report = trend_document(trend)
    if svg is not None:
        _check_target(svg)
        write_report(svg, trend_svg(report))
    emit(to_json(report) if as_json else trend_text(report))
    if not report.histories and not report.apart:
        raise InputError("no run could be read", source=paths[0] if paths else golden or ".")


def _check_target(svg: str) -> None:
    """Refuse to write over what the trend is made from: a run or a document may have any name."""
    from karat.core import UsageError
    from karat.files import refuse_input

    refuse_input(svg, "--svg")
    if Path(svg).resolve().suffix.lower() != ".svg":
        raise UsageError(f"--svg {svg} leads to a file that does not end with .svg; choose another name")
