"""``karat shadow``: the verbs that ask a treatment beside a control, and look at what it did."""

from __future__ import annotations

import click

from karat.cli._verbs import Verbs

_VERBS = {
    "gate": "karat.cli._shadow_gate",
    "replay": "karat.cli._shadow_replay",
    "report": "karat.cli._shadow_report",
}


@click.group("shadow", cls=Verbs, verbs=_VERBS)
def command() -> None:
    """Try a system in the shadow of another: ask both what people asked before, and see how their lists differ.

    Example: karat shadow report karat.db
    """
