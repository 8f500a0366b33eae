"""``karat online``: the verbs that keep a log of live queries, and look at it."""

from __future__ import annotations

import click

from karat.cli._verbs import Verbs

_VERBS = {
    "acknowledge": "karat.cli._online_acknowledge",
    "canary": "karat.cli._online_canary",
    "estimate": "karat.cli._online_estimate",
    "expire": "karat.cli._online_expire",
    "export": "karat.cli._online_export",
    "forget": "karat.cli._online_forget",
    "health": "karat.cli._online_health",
    "import": "karat.cli._online_import",
    "ingest": "karat.cli._online_ingest",
    "receive": "karat.cli._online_receive",
    "record": "karat.cli._online_record",
    "report": "karat.cli._online_report",
    "watch": "karat.cli._online_watch",
}


@click.group("online", cls=Verbs, verbs=_VERBS)
def command() -> None:
    """Manage the log of live queries and feedback that karat.online writes, and look at it.

    Example: karat online health karat.db
    """
