"""``karat label``: people label pairs of query and document, and what they say is proposed as gold."""

from __future__ import annotations

import click

from karat.cli._verbs import Verbs

_VERBS = {
    "accept": "karat.cli._label_accept",
    "agreement": "karat.cli._label_agreement",
    "next": "karat.cli._label_next",
    "proposals": "karat.cli._label_proposals",
    "propose": "karat.cli._label_propose",
    "queue": "karat.cli._label_queue",
    "refuse": "karat.cli._label_refuse",
    "save": "karat.cli._label_save",
    "show": "karat.cli._label_show",
    "status": "karat.cli._label_status",
    "undo": "karat.cli._label_undo",
}


@click.group("label", cls=Verbs, verbs=_VERBS)
def command() -> None:
    """Let several people label pairs of query and document, see how far they agree, and propose the result as gold.

    Example: karat label status
    """
