"""``karat online import``: queries and events that another tool logged."""

from __future__ import annotations

import click

from karat.cli._table import emit, escaped
from karat.core import count_things

_KINDS = click.Choice(["ubi", "otlp", "phoenix", "langfuse", "mlflow"])


@click.command("import", short_help="Read queries and events of UBI, or traces of other tools, into a store.")
@click.argument("store")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--from", "kind", type=_KINDS, help="The kind of the files.  [default: recognised by their first records]"
)
@click.option("--keep-ids", is_flag=True, help="Store ids of sessions and users as they are, without hashing them.")
@click.option("--no-redact", is_flag=True, help="Store texts as they are, with e-mail addresses, numbers and keys.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    store: str, files: tuple[str, ...], kind: str | None, keep_ids: bool, no_redact: bool, as_json: bool
) -> None:
    """Read another tool's log into STORE: User Behavior Insights (UBI) 1.3.0, or the spans of traces.

    Spans are OTLP as JSON, as the collector writes it to files, or exports of Phoenix, Langfuse and MLflow as JSON,
    JSON lines, CSV or Parquet. Retrievers, rerankers and memories become queries, as in karat online receive.

    Importing the same file again changes nothing. Texts are redacted, and ids of sessions and users hashed, like those
    that a host logs. A FILE may be the folder that karat online export wrote, in either format: its records stay as
    they are.

    Example: karat online import karat.db ubi_queries.jsonl ubi_events.jsonl
    """
    from karat.online.receiving import import_files
    from karat.schema import to_json

    document = import_files(store, files, kind=kind, redact=not no_redact, keep_ids=keep_ids)
    if as_json:
        emit(to_json(document))
        return
    lines = [
        (
            f"{count_things(document.queries, 'query', 'queries')} and "
            f"{count_things(document.events, 'event is', 'events are')} new in {escaped(store)}"
        )
    ]
    if document.repeated:
        lines.append(f"{count_things(document.repeated, 'record was', 'records were')} there already")
    lines += [f"{count:,} {escaped(kind)} ignored" for kind, count in document.ignored.items()]
    emit("\n".join(lines))
