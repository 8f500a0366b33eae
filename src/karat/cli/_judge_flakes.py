"""``karat judge flakes``: queries whose scores change although nothing did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._choosing import choose_run
from karat.cli._table import emit, escaped, number, render

if TYPE_CHECKING:
    from karat.schema.judging import FlakesReport

_SHOWN = 20
_WORDS = {"system": "noisy system", "judge": "noisy judge", "both": "both", "unknown": "one vote does not tell"}


@click.command("flakes", short_help="Find queries whose scores change without a reason.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-j", "--judge", default="", metavar="JUDGE", help="The judge, if several judged the runs.")
@click.option(
    "--tolerance", type=float, default=0.1, show_default=True, help="How far scores may differ without being flaky."
)
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the runs, if they are not in its folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(runs: tuple[str, ...], judge: str, tolerance: float, folder: str | None, as_json: bool) -> None:
    """Show which queries are stable, have a noisy system or a noisy judge, from RUNs of the same system.

    If votes on one answer differ, that is the judge; whatever the answers of several RUNs, or repeats, add to that is
    the system. The same judge must have judged all RUNs, with several votes.

    Example: karat judge flakes first.jsonl second.jsonl
    """
    from karat.projects import open_project
    from karat.projects.judging import find_flakes
    from karat.schema import to_json

    chosen = [choose_run(run, folder) for run in runs]
    project = open_project(chosen[0].project)
    report = find_flakes(project, [run.path for run in chosen], judge=judge, tolerance=tolerance)
    emit(to_json(report) if as_json else _show(report))


def _show(report: FlakesReport) -> str:
    counts = ", ".join(
        f"{report.counts.get(kind, 0)} {words}"
        for kind, words in {"stable": "stable", **_WORDS}.items()
        if kind != "unknown" or report.counts.get(kind)
    )
    parts = [f"{escaped(report.judge)}, {report.queries} queries: {counts}"]
    if report.flaky:
        rows = [["query", "why", "spread", "by votes", "answers", "different"]]
        rows += [
            [
                escaped(row.query), _WORDS[row.kind], number(row.spread), number(row.judge_spread), str(row.answers),
                str(row.different),
            ]
            for row in report.flaky[:_SHOWN]
        ]  # fmt: skip
        parts += ["", render(rows, left=2)]
    if len(report.flaky) > _SHOWN:
        parts.append(f"and {len(report.flaky) - _SHOWN} more; --json has all")
    return "\n".join([*parts, *map(escaped, report.notes)])
