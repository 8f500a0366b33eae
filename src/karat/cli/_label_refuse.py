"""``karat label refuse``: refuse a proposal, which is kept."""

from __future__ import annotations

import click

from karat.cli._label_show import proposal_text
from karat.cli._options import project_option
from karat.cli._table import emit


@click.command("refuse", short_help="Refuse a proposal, which is kept.")
@click.argument("proposal")
@click.option("--who", required=True, metavar="NAME", help="Who decides.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(proposal: str, who: str, reason: str, folder: str, as_json: bool) -> None:
    """Record that PROPOSAL is refused, by whom and why. The proposal is kept, and the golden set stays as it is.

    Example: karat label refuse 1 --who ada --reason "q3 is graded too low" --golden examples/hotel
    """
    from karat.labelling import open_desk, refuse_proposal
    from karat.schema import to_json

    document = refuse_proposal(open_desk(folder), proposal, by=who, reason=reason)
    emit(to_json(document) if as_json else proposal_text(document))
