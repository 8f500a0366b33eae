"""``karat online expire``: what is too old leaves the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import OnlineRetention

_DAYS = click.FloatRange(min=0)


@click.command("expire", short_help="Remove what is too old for a store; archive its queries.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--queries", metavar="DAYS", type=_DAYS, default=90, show_default=True, help="How long queries stay.")
@click.option("--events", metavar="DAYS", type=_DAYS, default=90, show_default=True, help="How long feedback stays.")
@click.option("--shadow", metavar="DAYS", type=_DAYS, default=30, show_default=True, help="How long shadow runs stay.")
@click.option("--archive/--no-archive", default=True, show_default=True, help="First write queries to the archive.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, queries: float, events: float, shadow: float, archive: bool, as_json: bool) -> None:
    """Remove old records from STORE, by whole days in UTC.

    Queries are first written to STORE.archive, one file of JSON lines per day. Judgments, runs and trials stay.

    Example: karat online expire karat.db --queries 30
    """
    from karat.online import Retention, expire
    from karat.schema import to_json

    document = expire(store, Retention(queries=queries, events=events, shadow_runs=shadow), archive=archive)
    emit(to_json(document) if as_json else _text(document, store))


def _text(document: OnlineRetention, store: str) -> str:
    names = {"queries": "queries", "events": "events", "shadow_runs": "shadow runs"}
    lines = [
        f"{document.removed[table]:,} {name} before {document.before[table]} removed from {escaped(store)}"
        for table, name in names.items()
    ]
    if document.archived:
        lines.append(f"{count_things(document.archived, 'query is', 'queries are')} new in {escaped(store)}.archive")
    return "\n".join(lines)
