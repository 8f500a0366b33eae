"""``karat judge bridge``: from one judge to another."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from karat.cli._asking import importable
from karat.cli._choosing import choose_run
from karat.cli._output import STDOUT, take_output
from karat.cli._progress import Progress, say
from karat.cli._table import emit, escaped, number, printable, render

if TYPE_CHECKING:
    from karat.schema.judging import BridgeReport, JudgeEstimate


@click.command("bridge", short_help="Move a baseline from one judge to another, with an interval.")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.argument("run", default=".", metavar="[RUN|DIR]")
@click.option("-j", "--judge", "names", multiple=True, metavar="JUDGE", help="A judge; can be repeated.")
@click.option("-n", "--n", "count", type=click.IntRange(2), default=60, show_default=True, help="Queries to judge.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another number draws other queries.")
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the run, if the run is not in its folder."
)
@click.option("--baseline", metavar="FILE", help="The baseline.  [default: the project's]")
@click.option(
    "-o", "--output", metavar="FILE", help="Write the moved baseline here; - is standard output, without the table."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    old: str,
    new: str,
    run: str,
    names: tuple[str, ...],
    count: int,
    seed: int,
    folder: str | None,
    baseline: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Let the judges of two files, OLD and NEW, each with a table [judges], judge the same answers of a run.

    karat never compares scores of different judges. This verb shows how much they differ, and what the baseline and the
    floors of the gate are for the new judge, with an interval. It writes a baseline to compare runs by the new judge
    with, on the queries that both judged.

    Example: karat judge bridge old.toml karat.toml examples/hotel -o moved.json
    """
    from karat.projects import open_project
    from karat.projects.baselines import bridge_judges
    from karat.projects.judging import recording_judging
    from karat.schema import to_json

    chosen = choose_run(run, folder)
    project = open_project(chosen.project)
    importable(project.config.folder)
    with recording_judging(project, "judge bridge", say) as recording:
        with take_output(output, as_json=as_json) if output else nullcontext() as place, Progress() as progress:
            report = bridge_judges(
                project,
                Path(old),
                Path(new),
                chosen.path,
                names=names,
                count=count,
                seed=seed,
                baseline=None if baseline is None else Path(baseline),
                output=place,
                progress=progress,
                recording=recording,
            )
        if output not in STDOUT:
            emit(to_json(report) if as_json else _show(report))


def _show(report: BridgeReport) -> str:
    rows = [["measure", "scored", "old", "new", "shift", "95 %", "baseline", "moved", "95 %"]]
    for row in report.measures:
        moved = ("", "") if row.moved is None else _split(row.moved)
        rows.append(
            [row.measure, f"{row.scored}/{row.total}", number(row.old_mean), number(row.new_mean), *_split(row.shift),
             number(row.baseline), *moved]
        )  # fmt: skip
    lines = [f"old: {escaped(report.old)}", f"new: {escaped(report.new)}", "", render(rows)]
    for row in report.measures:
        for limit in row.limits:
            value, interval = _split(limit.moved)
            lines.append(f"{row.measure} {limit.kind} {limit.limit:g} is {value} ({interval}) for the new judge")
    if report.output is not None:
        counts = sorted({row.scored for row in report.measures})
        on = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        lines.append(f"{printable(report.output, 200)}: the baseline for the new judge, on {on} queries")
    return "\n".join(lines)


def _split(estimate: JudgeEstimate) -> tuple[str, str]:
    interval = "" if estimate.low is None else f"{number(estimate.low)} to {number(estimate.high)}"
    return number(estimate.value), interval
