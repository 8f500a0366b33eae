"""``karat label accept``: write a proposal into the golden set."""

from __future__ import annotations

import click

from karat.cli._label_show import proposal_text
from karat.cli._options import project_option
from karat.cli._table import emit


@click.command("accept", short_help="Write a proposal into the golden set.")
@click.argument("proposal")
@click.option("--who", required=True, metavar="NAME", help="Who decides.")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(proposal: str, who: str, reason: str, folder: str, as_json: bool) -> None:
    """Write the changes of PROPOSAL into the golden set, and record who accepted it and why.

    Rows of the set that do not change stay the same to the byte, so git shows only what did.

    Example: karat label accept 1 --who ada --reason "read every row" --golden examples/hotel
    """
    from karat.labelling import accept_proposal, open_desk
    from karat.schema import to_json

    document = accept_proposal(open_desk(folder), proposal, by=who, reason=reason)
    emit(to_json(document) if as_json else proposal_text(document))
