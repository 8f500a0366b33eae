"""``karat migrate shadow``: whether a new index cites what the old one cites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, printable, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karat.schema.migration import RolloutReport

_SHOWN = 10


@click.command("shadow", short_help="Compare the citations of the old index and the new one.")
@click.argument("table")
@click.argument("control")
@click.argument("treatment", required=False, default="")
@click.option(
    "--feature", default="", metavar="NAME", help="For a store: the name of the feature.  [default: the only one]"
)
@click.option("--hits", type=click.IntRange(min=1), metavar="K", help="Compare the first K hits instead of citations.")
@click.option(
    "--least", type=click.IntRange(min=1), default=200, show_default=True,
    help="The least number of queries for a verdict.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    table: str,
    control: str,
    treatment: str,
    feature: str,
    hits: int | None,
    least: int,
    as_json: bool,
) -> None:
    """Compare what the old index (CONTROL) and the new one (TREATMENT) cite for the same queries, through TABLE.

    CONTROL and TREATMENT are run files. Without TREATMENT, CONTROL is a store with shadow runs, or a JSONL file with
    query, control and treatment, the ids that each side cites. A block may have its former ids as id_prev.

    The new index may get its first traffic if at most 2 % of the queries differ and everything that is cited has a
    place in it. The exit code is then 0; it is 1 if not, and 4 if there are too few queries.

    Example: karat migrate shadow moves.jsonl shadow.jsonl --least 50
    """
    from karat import migration
    from karat.schema import to_json

    report = migration.judge_rollout(
        migration.read_table(table),
        migration.read_shadowed(control, treatment, hits=hits, feature=feature),
        targets=migration.Targets(least=least),
        control=control,
        treatment=treatment or control,
        compared="citations" if hits is None else f"the first {hits} hits",
    )
    if not as_json:
        for note in report.notes:
            say(note)
    emit(to_json(report) if as_json else "\n\n".join(_parts(report)))
    context.exit(migration.verdict_code(report.verdict))


def _parts(report: RolloutReport) -> Iterator[str]:
    from karat.cli._migrate_blocks import render_checks

    step = (
        f"go on: {report.canary_percent:g} % of the traffic as a canary; keep the old index for two stable cycles"
        if report.stage == "canary"
        else "stay in the shadow"
    )
    mismatch = "-" if report.mismatch is None else f"{report.mismatch:.1%}"
    head = f"{report.compared}: {mismatch} of {report.queries:,} queries differ ({report.low:.1%} to {report.high:.1%})"
    yield "\n".join([bold(f"rollout: {report.verdict}"), head, step])
    yield render_checks(report.checks)
    if report.mismatches:
        rows = [
            [printable(row.query), _list(row.lost), _list(row.added), escaped(row.reason)]
            for row in report.mismatches[:_SHOWN]
        ]
        more = len(report.mismatches) - len(rows)
        yield "\n".join(
            [render([["query", "only the old index", "only the new one", ""], *rows], left=4)]
            + ([f"and {more:,} more (--json shows all)"] if more else [])
        )


def _list(ids: tuple[str, ...]) -> str:
    return printable(", ".join(ids[:3]) + (" ..." if len(ids) > 3 else ""), 48)
