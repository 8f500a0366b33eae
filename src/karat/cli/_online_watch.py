"""``karat online watch``: alerts on live traffic, once for cron, or again and again as a process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import say
from karat.cli._table import bold, coloured, emit, escaped, printable, render, tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karat.monitoring import Watched
    from karat.schema.watch import WatchReport

WEBHOOK_VARIABLE = "KARAT_WEBHOOK"
_SECONDS = click.FloatRange(min=0.01)
_COLOURS = {"fine": "green", "alert": "red", "not measurable": "yellow"}
_WIDTH = 120


@click.command("watch", short_help="Look for alerts in live traffic, once or again and again.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option(
    "--project", metavar="DIR", help="The project with the golden set, its documents, and [online] in karat.toml."
)
@click.option("--every", metavar="SECONDS", type=_SECONDS, help="Look again and again, until interrupted.")
@click.option("--ingest", "ingesting", is_flag=True, help="First bring what waits in the journal into the store.")
@click.option("--webhook", metavar="URL", help=f"Send alerts that open or close there.  [default: {WEBHOOK_VARIABLE}]")
@click.option("--at", metavar="TIME", help="Look as of a time such as 2026-11-18T01:30:00Z (UTC).  [default: now]")
@click.option("--dry-run", is_flag=True, help="Change no alert, and send nothing.")
@click.option("--html", metavar="FILE", help="Also write the report to FILE as a page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, /, store: str, every: float | None, **options: Any) -> None:
    """Look at the newest windows of live traffic in STORE: which alerts fire, which are fine, which cannot be measured.

    The exit code is 0 if none fires, 1 if one does, 3 if the log cannot be read, and 4 if none fires and one is not
    measurable. The table [online.alerts] of karat.toml has the alerts; you can switch off each of them.

    Example: karat online watch karat.db --project examples/hotel --every 60
    """
    from karat.core import UsageError
    from karat.monitoring import exit_code, name_webhook, open_watched, parse_time

    options["webhook"] = options["webhook"] or os.environ.get(WEBHOOK_VARIABLE, "").strip()
    if options["webhook"]:
        name_webhook(options["webhook"])  # refuses one that is not usable
    now = None if options["at"] is None else parse_time(options["at"])
    if every is not None and now is not None:
        raise UsageError("--at looks at one time, and --every again and again: give only one of them")
    watched = open_watched(options["project"])
    if every is None:
        context.exit(exit_code(_look(store, watched, now, options)))
    _follow(store, watched, every, options)


def _look(store: str, watched: Watched, now: float | None, options: dict[str, Any]) -> WatchReport:
    """Look once, send what there is to send, and print the report."""
    from karat.cli._output import refuse_log, write_output
    from karat.config import read_config
    from karat.monitoring import add_notes, send_notices, watch
    from karat.online import emitting, ingest
    from karat.reports import render_watch_html
    from karat.schema import to_json

    if options["ingesting"]:
        config = None if options["project"] is None else read_config(Path(options["project"])).telemetry
        with emitting(config, say) as send:
            ingest(store, emit=send)
    refuse_log(store, options["html"], "--html")
    report = watch(store, watched.project, config=watched.config, now=now, record=not options["dry_run"])
    if watched.note:
        report = add_notes(report, [watched.note])
    if options["webhook"] and not options["dry_run"]:
        _, problem = send_notices(store, options["webhook"], now=now)
        if problem:
            report = add_notes(report, [f"an alert could not be sent, and is tried again at the next look: {problem}"])
    if options["html"]:
        write_output(options["html"], render_watch_html(report), "--html", private=True)
    if not options["as_json"]:
        for note in report.notes:
            say(note)
    emit(to_json(report) if options["as_json"] else "\n\n".join(_parts(report)))
    return report


def _follow(store: str, watched: Watched, every: float, options: dict[str, Any]) -> None:
    """Look until a signal comes. A look that fails is told, and the next one tries again."""
    import signal
    import threading

    from karat.core import KaratError

    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while not stop.is_set():
            try:
                _look(store, watched, None, options)
            except KaratError as error:
                tell(escaped(str(error)))
            stop.wait(every)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _parts(report: WatchReport) -> Iterator[str]:
    from karat.reports import describe_watch, list_watch_tables

    beyond = report.status == "fine" and any(alert.state == "beyond" for alert in report.alerts)
    yield bold(coloured(escaped(describe_watch(report)), "yellow" if beyond else _COLOURS[report.status]))
    for title, head, rows in list_watch_tables(report):
        if rows:
            cells = [[printable(cell, _WIDTH) for cell in row] for row in rows]
            yield f"{escaped(title)}\n{render([list(head), *cells], left=len(head))}"
