"""``karat online ingest``: what hosts have logged, from the journal into the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, tell
from karat.core import count_things

if TYPE_CHECKING:
    from karat.online import Emit, Ingested
    from karat.schema import OnlineIngest

_SECONDS = click.FloatRange(min=0.01)


@click.command("ingest", short_help="Bring logged queries from the journal into the store.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--follow", is_flag=True, help="Continue until interrupted.")
@click.option("--every", metavar="SECONDS", type=_SECONDS, default=1.0, show_default=True, help="How often to look.")
@click.option(
    "--keep",
    metavar="HOURS",
    type=click.FloatRange(min=0),
    default=24.0,
    show_default=True,
    help="How long to keep what a server already has, in case it is restored from an older copy.",
)
@click.option("--project", metavar="DIR", help="The project whose [telemetry] in karat.toml names a collector.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, follow: bool, every: float, keep: float, project: str | None, as_json: bool) -> None:
    """Bring what hosts have logged from the journal beside STORE into STORE, which is created if it is missing.

    Each accepted record is stored exactly once, even if this command is killed, or runs twice. If there is neither a
    store nor a journal, nothing is created: the exit code is 2, or with --follow it waits. If an OpenTelemetry
    collector is configured, it gets a span for each query, without its text unless you ask for that.

    Example: karat online ingest karat.db
    """
    from karat.config import read_config
    from karat.online import emitting, ingest
    from karat.schema import to_json

    config = None if project is None else read_config(Path(project)).telemetry
    with emitting(config, lambda note: tell(escaped(note))) as send:
        done = _follow(store, every, 3600 * keep, send) if follow else ingest(store, keep=3600 * keep, emit=send)
    document = done.document()
    emit(to_json(document) if as_json else _text(document, store))


def _follow(store: str, every: float, keep: float, send: Emit | None) -> Ingested:
    """Ingest until a signal comes; what is there then is still ingested."""
    import signal
    import threading

    from karat.online import follow

    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return follow(
            store,
            stop,
            every=every,
            keep=keep,
            emit=send,
            on_error=lambda error: tell(escaped(str(error))),
            on_wait=lambda: tell(f"{escaped(store)}: there is no log yet; waiting for a host to make one"),
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _text(document: OnlineIngest, store: str) -> str:
    if document.busy and not document.records:
        return f"another ingester is at work on {escaped(store)}"
    lines = [f"{count_things(document.records, 'record is', 'records are')} new in {escaped(store)}"]
    if document.repeated:
        lines.append(f"{document.repeated:,} were there already")
    if document.corrected:
        lines.append(f"{document.corrected:,} had a time that cannot be right (given_time), and got that of the host")
    if document.damaged:
        lines.append(
            f"{count_things(document.damaged, 'part')} of the journal "
            f"could not be read: karat online health {escaped(store)}"
        )
    return "\n".join(lines)
