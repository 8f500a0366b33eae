"""``karat online estimate``: how attractive documents are to those who ask a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._engines import engine_option
from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema.feedback import ClickEstimate, ClickEstimator, ClickReport

_ESTIMATORS = click.Choice(["coec", "ctr", "ips", "sdbn", "snips"])
_WIDTH = 60


@click.command("estimate", short_help="Estimate from clicks how attractive documents are.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--estimator", type=_ESTIMATORS, default="snips", show_default=True, help="How to estimate from clicks.")
@click.option(
    "--since", metavar="DAY", help="From this day on, such as 2026-11-01 (UTC), or 7d for the last seven days."
)
@click.option("--until", metavar="DAY", help="Up to this day, which is not included.")
@click.option(
    "--minimum",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="A pair with fewer impressions has no value.",
)
@click.option(
    "--shown",
    "listed",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Pairs of query and document to list.",
)
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    store: str,
    estimator: ClickEstimator,
    since: str | None,
    until: str | None,
    minimum: int,
    listed: int,
    address: str,
    as_json: bool,
) -> None:
    """Estimate from the log in STORE how attractive each document is to those who ask a query.

    People look less often at what is further down. snips and ips weigh clicks by how many people look at each rank,
    sdbn counts what is above the last click, coec compares with other documents at the same ranks, and ctr is the plain
    share of clicks. The pairs with the most impressions are listed.

    STORE may be a folder that 'karat online export --format parquet' wrote. karat reads it in a bounded amount of
    memory, in this process or by --engine.

    Example: karat online estimate karat.db --since 28d
    """
    from karat.cli._days import parse_day
    from karat.engine import open_engine
    from karat.feedback import report_clicks
    from karat.schema import to_json

    first, last = parse_day(since, "--since"), parse_day(until, "--until")
    with open_engine(address) as engine:
        report = report_clicks(store, estimator, since=first, until=last, minimum=minimum, listed=listed, engine=engine)
    if not as_json:
        for note in report.notes:
            say(note)
    emit(to_json(report) if as_json else _text(report))


def _text(report: ClickReport) -> str:
    title = bold(escaped(f"{report.store}: {count_things(report.pairs, 'pair')} of query and document"))
    if not report.pairs:
        return title
    rare = report.pairs - report.estimated
    counts = f"{count_things(report.shown, 'impression')}, of which {report.clicks:,} were read"
    few = f"; {rare:,} of fewer than {report.minimum:,} impressions have no value" if rare else ""
    if not report.estimates:
        return f"{title}\n{counts}{few}"
    rows = [["query", "document", "shown", "read", report.estimator, f"{report.confidence:.0%} interval"]]
    return f"{title}\n{counts}{few}\n\n{render([*rows, *map(_row, report.estimates)], left=2)}"


def _row(estimate: ClickEstimate) -> list[str]:
    value = "-" if estimate.value is None else f"{estimate.value:.3f}"
    ends = f"{estimate.low:.3f} " + ("or more" if estimate.high is None else f"to {estimate.high:.3f}")
    pair = [printable(estimate.query, _WIDTH), printable(estimate.document, _WIDTH)]
    return [*pair, f"{estimate.shown:,}", f"{estimate.clicks:,}", value, ends]
