"""``karat online receive``: spans of an application that is instrumented already, into the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped, tell
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import OnlineReceived

_SECONDS = click.FloatRange(min=0, max=3600)


@click.command("receive", short_help="Receive OpenTelemetry spans over HTTP into a log.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=4318, show_default=True, help="0 takes a free one.")
@click.option(
    "--allow-host", metavar="NAME", multiple=True, help="A name that senders use for this machine; can be repeated."
)
@click.option(
    "--settle",
    metavar="SECONDS",
    type=_SECONDS,
    default=5.0,
    show_default=True,
    help="How long a trace waits for more spans.",
)
@click.option(
    "--patience",
    metavar="SECONDS",
    type=_SECONDS,
    default=120.0,
    show_default=True,
    help="The same for a trace whose first span has not come.",
)
@click.option("--keep-ids", is_flag=True, help="Store ids of sessions and users as they are, without hashing them.")
@click.option("--no-redact", is_flag=True, help="Store texts as they are, with e-mail addresses, numbers and keys.")
@click.option("--no-ingest", is_flag=True, help="Only write the journal; karat online ingest does the rest.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON at the end.")
def command(
    store: str,
    host: str,
    port: int,
    allow_host: tuple[str, ...],
    settle: float,
    patience: float,
    keep_ids: bool,
    no_redact: bool,
    no_ingest: bool,
    as_json: bool,
) -> None:
    """Take OTLP over HTTP, protobuf or JSON, into STORE until interrupted: /v1/traces and /v1/logs.

    Spans of retrievers, rerankers and memories, with the names of OpenTelemetry GenAI or OpenInference, become queries
    with their sessions, channels and answers; evaluations become feedback. What is accepted is on the disk before the
    sender gets an answer. This verb needs the extra otel, and does not speak gRPC.

    Example: karat online receive karat.db --port 4318
    """
    import signal
    import threading

    from karat.online.receiving import receive
    from karat.schema import to_json

    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        received = receive(
            store,
            stop,
            host=host,
            port=port,
            names=allow_host,
            settle=settle,
            patience=max(settle, patience),
            redact=not no_redact,
            keep_ids=keep_ids,
            ingest=not no_ingest,
            on_start=lambda url: tell(f"listening: OTEL_EXPORTER_OTLP_ENDPOINT={url}"),
            on_error=lambda error: tell(escaped(str(error))),
        )
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    emit(to_json(received) if as_json else "\n".join(list_received(received)))


def list_received(received: OnlineReceived) -> list[str]:
    """Return the lines about what was received so far."""
    lines = [
        f"received {count_things(received.spans, 'span')}: {count_things(received.queries, 'query', 'queries')}, "
        f"{count_things(received.events, 'event')}, {count_things(received.waiting, 'span')} waiting"
    ]
    facts = {
        "had come before": received.repeated,
        "came late, and are events of their queries": received.late,
        "are of documents without an id: a hash of the text stands for it": received.documents_by_text,
        "are of documents with neither id nor text: only their number is known": received.documents_without_id,
    }
    lines += [f"received {count:,} {what}" for what, count in facts.items() if count]
    if received.early:
        lines.append(
            f"received {count_things(received.early, 'trace was', 'traces were')} written before being complete: "
            "too many waited"
        )
    if received.unlinked:
        lines.append(f"received {count_things(received.unlinked, 'event')} whose query is not known")
    lines += [f"ignored  {count:,} {escaped(kind)}" for kind, count in received.ignored.items()]
    lines += [f"refused  {count:,} by {escaped(reason)}" for reason, count in received.refused.items()]
    return lines
