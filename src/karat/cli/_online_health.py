"""``karat online health``: whether a log works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._online_receive import list_received
from karat.cli._table import emit, escaped
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import OnlineHealth, OnlineTable

_REASONS = {
    "encode": "could not be encoded",
    "too_large": "were larger than a megabyte",
    "disk": "found no room, or no right to write",
    "closed": "came after the log was closed",
    "other": "failed otherwise",
    "outcome": "have a task_outcome that is not from 0 to 1",
}

_WRONG = "have a wrong {}: docs/online.md says what belongs there"
_REMOVED = (
    "segments of the journal under a running host: {}; it wrote them again, but what was full before and not "
    "ingested is lost"
)


_MANY = 0.2
"""The share of queries without a session above which it is told."""
_NO_SESSION = "nobody can tell what became of them: docs/online.md says how a host gives sessions"


@click.command("health", short_help="Show what a log holds, what waits, and what was lost.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(context: click.Context, store: str, as_json: bool) -> None:
    """Show what STORE holds, what waits in its journal, what hosts dropped, and what could not be read.

    This changes nothing. The exit code is 0 if the log is healthy, 1 if records were lost or damaged and nobody has
    acknowledged it (karat online acknowledge), or if records wait for longer than fifteen minutes, 2 if there is no
    such log, and 3 if it cannot be read.

    Example: karat online health karat.db
    """
    from karat.online import check_health
    from karat.schema import to_json

    health = check_health(store)
    emit(to_json(health) if as_json else _text(health))
    context.exit(0 if health.healthy else 1)


def _text(health: OnlineHealth) -> str:
    journal = health.journal
    lines = [f"{escaped(health.store)}: {_judge(health)}", f"queries  {_span(health.queries)}"]
    if health.without_session > _MANY * health.queries.rows:
        share = health.without_session / health.queries.rows
        lines.append(
            f"sessions {count_things(health.without_session, 'query has', 'queries have')} none ({share:.0%}); "
            f"{_NO_SESSION}"
        )
    lines.append(f"events   {_span(health.events)}")
    if health.odd_outcomes:
        outcomes = count_things(health.odd_outcomes, "task_outcome has", "task_outcomes have")
        lines.append(f"outcomes {outcomes} a value that is not from 0 to 1, and count in no report and no trial")
    lines += [
        f"journal  {count_things(journal.waiting, 'record')} waiting, {count_things(journal.segments, 'segment')}, "
        f"{journal.writers} of them in use",
    ]
    if journal.lag is not None:
        lines.append(f"lag      the oldest has waited for {journal.lag:,.1f} seconds")
    if health.received is not None:
        lines += list_received(health.received)
    free = "" if health.free is None else f", {_size(health.free)} free"
    lines.append(f"disk     {_size(health.bytes)} of the store, {_size(journal.bytes)} of the journal{free}")
    lines += _list_losses(health)
    if health.run is not None:
        values = (f"{name} {'-' if value is None else f'{value:.3f}'}" for name, value in health.run.measures.items())
        run = health.run
        lines.append(
            f"last run {escaped(run.run)}, {run.time}: {run.outcome or run.kind}; {escaped(', '.join(values))}"
        )
    lines += [
        f"trial    {escaped(trial.feature)} {trial.number} is {trial.status} since {trial.started}, "
        f"{count_things(trial.samples, 'difference')}"
        for trial in health.trials
    ]
    lines += [
        f"flag     {escaped(flag.key)} is at {flag.percent:g} %, and {flag.shadow_percent:g} % in the shadow, since "
        f"{flag.changed}"
        for flag in health.flags
    ]
    lines += [
        f"alert    {escaped(alert.name)} is open since {alert.opened}: karat online watch says why"
        for alert in health.alerts
    ]
    return "\n".join(lines)


def _list_losses(health: OnlineHealth) -> list[str]:
    """Return lines on what was dropped, left out, removed or damaged, and on who has acknowledged it."""
    lines = [
        f"dropped  {count:,} {_REASONS.get(reason) or _WRONG.format(reason)}{_seen(health, reason, count)}"
        for reason, count in health.dropped.items()
    ]
    lines += [
        f"left out {field} of {count_things(count, 'record')} that cannot be recorded{_seen(health, field, count)}"
        for field, count in health.left_out.items()
    ]
    if health.removed:
        lines.append(f"removed  {_REMOVED.format(health.removed)}{_seen(health, 'removed', health.removed)}")
    lines += [
        f"seen     {done.time} by {escaped(done.author)}: {escaped(done.reason)}" for done in health.acknowledgements
    ]
    lines += [
        f"damaged  {count_things(part.bytes, 'byte')} of {escaped(part.segment)}, not ingested yet: {part.reason}"
        for part in health.journal.damages
    ]
    lines += [
        f"damaged  {'' if damage.parts == 1 else f'{damage.parts:,} parts, '}{count_things(damage.bytes, 'byte')}, "
        f"kept in {escaped(damage.file)}: {escaped(damage.reason)}"
        for damage in health.damages
    ]
    return lines


def _size(count: int) -> str:
    """Return a number of bytes as people read it: 1.5 MB."""
    units = ("bytes", "kB", "MB", "GB", "TB")
    power = min(len(units) - 1, max(0, (len(str(count)) - 1) // 3))
    return f"{count / 1000**power:.1f} {units[power]}" if power else f"{count} {units[0]}"


def _judge(health: OnlineHealth) -> str:
    if health.healthy:
        acknowledged = health.dropped or health.removed or health.left_out
        return "healthy; all that was lost is acknowledged" if acknowledged else "healthy"
    lost = health.dropped or health.damages or health.journal.damages
    if health.journal.late and not (lost or health.removed):
        return "records wait, and nobody brings them into the store (karat online ingest --follow)"
    if health.left_out and not (lost or health.removed):
        return "records lack what the host passed and karat cannot record"
    return "records were lost" if lost else "records may be lost"


def _seen(health: OnlineHealth, reason: str, count: int) -> str:
    seen = health.acknowledged.get(reason, 0)
    return "" if not seen else ", acknowledged" if seen >= count else f", {seen:,} of them acknowledged"


def _span(table: OnlineTable) -> str:
    return f"{table.rows:,}" + (f", {table.first} to {table.last}" if table.rows else "")
