"""``karat migrate``: the verbs that follow ids from one version of an index to the next."""

from __future__ import annotations

import click

from karat.cli._verbs import Verbs

_VERBS = {
    "blocks": "karat.cli._migrate_blocks",
    "judgments": "karat.cli._migrate_judgments",
    "shadow": "karat.cli._migrate_shadow",
}


@click.group("migrate", cls=Verbs, verbs=_VERBS)
def command() -> None:
    """Follow block ids into a rebuilt index: find where each block went, and move citations and judgments with it.

    Example: karat migrate blocks documents-v1 documents-v2
    """
