"""``karat online health``: whether a log works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, escaped

if TYPE_CHECKING:
    from karat.schema import OnlineHealth, OnlineTable

_REASONS = {
    "encode": "could not be encoded",
    "too_large": "were larger than a megabyte",
    "disk": "found no room, or no right to write",
    "closed": "came after the log was closed",
    "other": "failed otherwise",
}


@click.command("health", short_help="Show what a log holds, what waits, and what was lost.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, as_json: bool) -> None:
    """Show what STORE holds, what waits in its journal, what hosts dropped, and what could not be read.

    Looking changes nothing.

    Example: karat online health karat.db
    """
    from karat.online import check_health
    from karat.schema import to_json

    health = check_health(store)
    emit(to_json(health) if as_json else _text(health))


def _text(health: OnlineHealth) -> str:
    journal = health.journal
    lines = [
        f"{escaped(health.store)}: {'healthy' if health.healthy else 'records were lost'}",
        f"queries  {_span(health.queries)}",
        f"events   {_span(health.events)}",
        f"journal  {journal.waiting:,} records waiting, {journal.segments} segments, {journal.writers} of them in use",
    ]
    lines += [f"dropped  {count:,} {_REASONS.get(reason, reason)}" for reason, count in health.dropped.items()]
    lines += [
        f"damaged  {damage.bytes:,} bytes, kept in {escaped(damage.file)}: {escaped(damage.reason)}"
        for damage in health.damages
    ]
    if health.run is not None:
        values = (f"{name} {'-' if value is None else f'{value:.3f}'}" for name, value in health.run.measures.items())
        run = health.run
        lines.append(
            f"last run {escaped(run.run)}, {run.time}: {run.outcome or run.kind}; {escaped(', '.join(values))}"
        )
    return "\n".join(lines)


def _span(table: OnlineTable) -> str:
    return f"{table.rows:,}" + (f", {table.first} to {table.last}" if table.rows else "")
