"""``karat online export``: a log for other tools."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from karat.cli._table import emit, escaped
from karat.core import count_things

_DAY = click.DateTime(formats=["%Y-%m-%d"])
_FORMATS = click.Choice(["ubi", "parquet"])


@click.command("export", short_help="Write queries and events as UBI, or as Parquet by day.")
@click.argument("store")
@click.argument("destination")
@click.option("--format", type=_FORMATS, default="ubi", show_default=True, help="UBI 1.3.0 as JSON lines, or Parquet.")
@click.option("--since", metavar="YYYY-MM-DD", type=_DAY, help="The first day, in UTC.")
@click.option("--until", metavar="YYYY-MM-DD", type=_DAY, help="The day after the last, in UTC.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    store: str, destination: str, format: str, since: datetime | None, until: datetime | None, as_json: bool
) -> None:
    """Write the queries and events of STORE into a new folder: as UBI 1.3.0, or as Parquet, a folder a day.

    Nothing is lost: what UBI has no field for is kept beside. karat online import reads the folder again.

    Example: karat online export karat.db week --format parquet --since 2026-11-10
    """
    from karat.online import export_log
    from karat.schema import to_json

    document = export_log(store, destination, format=format, since=_to_seconds(since), until=_to_seconds(until))
    if as_json:
        emit(to_json(document))
        return
    lines = [
        (
            f"{count_things(document.queries, 'query', 'queries')} and "
            f"{count_things(document.events, 'event is', 'events are')} in {escaped(destination)}"
        )
    ]
    if document.invalid:
        lines.append(f"{document.invalid:,} have what {format} does not allow: {escaped(document.reason)}")
    emit("\n".join(lines))


def _to_seconds(day: datetime | None) -> float | None:
    return None if day is None else day.replace(tzinfo=UTC).timestamp()
