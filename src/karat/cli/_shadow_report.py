"""``karat shadow report``: what a treatment did beside its control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._options import load_named_measures
from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, printable, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karat.schema.shadow import ShadowReport

_WIDTH = 60


@click.command("report", short_help="Compare a shadow treatment with its control.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option(
    "--feature", default="", metavar="NAME", help="The name of the feature.  [default: the only one in STORE]"
)
@click.option("--golden", "set_", metavar="SET", help="Golden set or project with judgments.")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", callback=load_named_measures,
    help="A measure of judged runs; can be repeated.  [default: RR@10, nDCG@10]",
)  # fmt: skip
@click.option(
    "--since", metavar="DAY", help="From this day on, such as 2026-11-01 (UTC), or 7d for the last seven days."
)
@click.option("--until", metavar="DAY", help="Up to this day, which is not included.")
@click.option("--shown", type=click.IntRange(min=0), default=10, show_default=True, help="Documents to list.")
@click.option("--html", metavar="FILE", help="Also write the report to FILE as a page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    store: str,
    feature: str,
    set_: str | None,
    measures: tuple[str, ...],
    since: str | None,
    until: str | None,
    shown: int,
    html: str | None,
    as_json: bool,
) -> None:
    """Show the shadow runs of a feature in STORE: how lists differ, which documents move, and how --golden scores them.

    The 95 % intervals take into account that runs of one session are alike. Unjudged is not irrelevant: beside each
    difference, karat shows how far the grades of unjudged documents could move it.

    Example: karat shadow report karat.db --feature mine --golden examples/hotel
    """
    from karat import golden
    from karat.cli._days import parse_day
    from karat.cli._output import write_output
    from karat.online.shadow import MEASURES, report_shadow
    from karat.reports import render_shadow_html
    from karat.schema import to_json

    gold = golden.open_set(set_) if set_ else None
    report = report_shadow(
        store,
        feature,
        gold,
        since=parse_day(since, "--since"),
        until=parse_day(until, "--until"),
        measures=measures or MEASURES,
        shown=shown,
    )
    if html:
        write_output(html, render_shadow_html(report), "--html")
    if not as_json:
        for note in report.notes:
            say(note)
    emit(to_json(report) if as_json else "\n\n".join(_parts(report)))


def _parts(report: ShadowReport) -> Iterator[str]:
    from karat.reports import describe_shadow, list_shadow_facts, list_shadow_tables

    facts = [f"{name.lower()}: {escaped(fact)}" for name, fact in list_shadow_facts(report) if name != "Store"]
    yield "\n".join([bold(escaped(f"{report.feature}: {describe_shadow(report)}")), *facts])
    for title, head, rows in list_shadow_tables(report):
        if rows:
            cells = [[printable(cell, _WIDTH) for cell in row] for row in rows]
            yield f"{escaped(title)}\n{render([list(head), *cells])}"
