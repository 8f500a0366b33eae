"""``karat online report``: live traffic, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._engines import engine_option
from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, printable, render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from karat.schema.feedback import OnlineQuery, OnlineRate, OnlineReport

_WIDTH = 60


@click.command("report", short_help="Show live traffic: rates, latency, worst queries, drift.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--golden", "set_", metavar="SET", help="Golden set or project to compare the traffic with.")
@click.option(
    "--since", metavar="DAY", help="From this day on, such as 2026-11-01 (UTC), or 7d for the last seven days."
)
@click.option("--until", metavar="DAY", help="Up to this day, which is not included.")
@click.option("--shown", type=click.IntRange(min=0), default=10, show_default=True, help="Queries to list.")
@click.option("--html", metavar="FILE", help="Also write the report to FILE as a page.")
@click.option("--whole", is_flag=True, help="Look at all sessions, however many there are.")
@engine_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    store: str,
    set_: str | None,
    since: str | None,
    until: str | None,
    shown: int,
    html: str | None,
    whole: bool,
    address: str,
    as_json: bool,
) -> None:
    """Show the traffic in STORE: how much there is, what became of it, which queries fail, and what --golden lacks.

    STORE may be a folder that 'karat online export --format parquet' wrote. karat then looks at all of its sessions, in
    a bounded amount of memory, in this process or by --engine.

    The 95 % intervals take into account that queries of one session are alike. A query whose outcome nobody knows does
    not count as used.

    Example: karat online report karat.db --golden examples/hotel --since 7d
    """
    from karat import golden
    from karat.cli._days import parse_day
    from karat.cli._output import write_output
    from karat.engine import open_engine
    from karat.feedback import MOST_QUERIES, report_log
    from karat.reports import render_online_html
    from karat.schema import to_json

    gold = golden.open_set(set_) if set_ else None
    first, last = parse_day(since, "--since"), parse_day(until, "--until")
    most = None if whole else MOST_QUERIES
    with open_engine(address) as engine:
        report = report_log(store, gold, since=first, until=last, shown=shown, most=most, engine=engine)
    if html:
        write_output(html, render_online_html(report), "--html", private=True)
    if not as_json:
        for note in report.notes:
            say(note)
    emit(to_json(report) if as_json else "\n\n".join(_parts(report)))


def _parts(report: OnlineReport) -> Iterator[str]:
    from karat.reports import describe_estimate, describe_sample, describe_traffic, list_traffic_facts

    facts = [f"{name.lower()}: {escaped(fact)}" for name, fact in list_traffic_facts(report) if name != "Store"]
    yield "\n".join([bold(escaped(f"{report.store}: {describe_traffic(report)}")), *facts])
    yield _rates("became", report.rates)
    if report.worst:
        yield _queries(f"fails most{describe_estimate(report)}", report.worst)
    if report.drift is not None:
        drift = report.drift
        yield (
            f"beside the golden set {printable(drift.golden)}: {drift.unseen:,} different "
            f"{'query is' if drift.unseen == 1 else 'queries are'} not in it, "
            f"{drift.not_asked:,} of its own were not asked{describe_sample(report)}\n"
            + _rates("in the set", (drift.covered, drift.citations))
        )
        if drift.most_asked:
            yield _queries(f"not in the set{describe_estimate(report)}", drift.most_asked)
    if len(report.intents) > 1:
        head = ["queries", "share", "in the set", "nothing found", "asked again", "used"]
        rows = [[f"intent{describe_estimate(report)}", *head]]
        for i in report.intents:
            own = "-" if i.golden_share is None else f"{i.golden_share:.1%}"
            counts = [f"{i.nothing_found:,}", f"{i.asked_again:,}", f"{i.used:,}"]
            rows.append([printable(i.intent, _WIDTH) or "-", f"{i.queries:,}", f"{i.share:.1%}", own, *counts])
        yield render(rows)


def _rates(title: str, rates: Sequence[OnlineRate]) -> str:
    from karat.reports import format_rate

    return render([[title, "share", "95 % interval", "queries"], *([rate.name, *format_rate(rate)] for rate in rates)])


def _queries(title: str, queries: Sequence[OnlineQuery]) -> str:
    rows = [[title, "how it ends", "sessions", "failures", "nearest golden query"]]
    for query in queries:
        nearest = printable(f"{query.nearest}: {query.nearest_text}", _WIDTH) if query.nearest else "-"
        counts = [f"{query.sessions:,}", f"{query.failures:,}", nearest]
        rows.append([printable(query.text, _WIDTH), query.outcome, *counts])
    return render(rows, left=2)
