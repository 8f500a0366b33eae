"""``karat online export``: a log for other tools."""

from __future__ import annotations

import click

from karat.cli._days import parse_day
from karat.cli._table import emit, escaped
from karat.core import count_things

_FORMATS = click.Choice(["ubi", "parquet"])


@click.command("export", short_help="Write queries and events as UBI, or as Parquet by day.")
@click.argument("store")
@click.argument("destination")
@click.option("--format", type=_FORMATS, default="ubi", show_default=True, help="UBI 1.3.0 as JSON lines, or Parquet.")
@click.option(
    "--since", metavar="DAY", help="From this day on, such as 2026-11-01 (UTC), or 7d for the last seven days."
)
@click.option("--until", metavar="DAY", help="Up to this day, which is not included.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, destination: str, format: str, since: str | None, until: str | None, as_json: bool) -> None:
    """Write the queries and events of STORE into a new folder: as UBI 1.3.0, or as Parquet, a folder a day.

    Nothing is lost: what UBI has no field for is kept beside it. karat online import reads the folder back.

    Example: karat online export karat.db week --format parquet --since 2026-11-10
    """
    from karat.online import export_log
    from karat.schema import to_json

    days = {"since": parse_day(since, "--since"), "until": parse_day(until, "--until")}
    document = export_log(store, destination, format=format, **days)
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
