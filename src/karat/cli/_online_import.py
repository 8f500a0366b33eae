"""``karat online import``: queries and events that another tool logged."""

from __future__ import annotations

import click

from karat.cli._table import emit, escaped
from karat.core import count_things


@click.command("import", short_help="Read queries and events of UBI into a store.")
@click.argument("store")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--keep-ids", is_flag=True, help="Store ids of sessions and users as they are, without hashing them.")
@click.option("--no-redact", is_flag=True, help="Store texts as they are, with e-mail addresses, numbers and keys.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, files: tuple[str, ...], keep_ids: bool, no_redact: bool, as_json: bool) -> None:
    """Read queries and events of User Behavior Insights (UBI) 1.3.0 into STORE: JSON lines, of both kinds.

    The same file a second time changes nothing. Texts are redacted, and ids of sessions and users hashed, as those
    that a host logs. A FILE may be the folder that karat online export wrote, of either format: its records stay as
    they are.

    Example: karat online import karat.db ubi_queries.jsonl ubi_events.jsonl
    """
    from karat.online import import_ubi
    from karat.schema import to_json

    document = import_ubi(store, files, redact=not no_redact, keep_ids=keep_ids)
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
    emit("\n".join(lines))
