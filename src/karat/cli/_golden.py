"""``karat golden``: the verbs that read, check, make and compare golden sets."""

from __future__ import annotations

import click

from karat.cli._verbs import Verbs

_VERBS = {
    "check": "karat.cli._golden_check",
    "convert": "karat.cli._golden_convert",
    "diff": "karat.cli._golden_diff",
    "judge": "karat.cli._golden_judge",
    "merge": "karat.cli._golden_merge",
    "outline": "karat.cli._golden_outline",
    "pool": "karat.cli._golden_pool",
    "sample": "karat.cli._golden_sample",
    "synth": "karat.cli._golden_synth",
    "tag": "karat.cli._golden_tag",
}


@click.group("golden", cls=Verbs, verbs=_VERBS)
def command() -> None:
    """Read, check, make and compare golden sets.

    Example: karat golden check examples/hotel
    """
