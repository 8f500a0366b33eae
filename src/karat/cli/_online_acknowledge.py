"""``karat online acknowledge``: saying that somebody has seen what hosts dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._pairs import find_user
from karat.cli._table import emit, escaped

if TYPE_CHECKING:
    from karat.schema import OnlineAcknowledgement


@click.command("acknowledge", short_help="Acknowledge records that hosts dropped.")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--reason", required=True, help="What happened, for the next person who looks.")
@click.option("--author", help="Who has looked.  [default: the user of this machine]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(store: str, reason: str, author: str | None, as_json: bool) -> None:
    """Acknowledge the records that hosts could not write to STORE until now.

    karat online health still shows them, with who acknowledged them, when and why, but exits with 0. Records that are
    dropped later count again.

    Example: karat online acknowledge karat.db --reason "the disk was full on Monday"
    """
    from karat.online import acknowledge_drops
    from karat.schema import to_json

    done = acknowledge_drops(store, author=author or find_user(), reason=reason)
    emit(to_json(done) if as_json else _text(done))


def _text(done: OnlineAcknowledgement) -> str:
    if not done.dropped:
        return "nothing to acknowledge: no record was dropped since the last time"
    counts = ", ".join(f"{count:,} {reason}" for reason, count in done.dropped.items())
    return f"acknowledged by {escaped(done.author)}: {counts}"
