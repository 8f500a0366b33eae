"""``karat label proposals``: the proposals of a project."""

from __future__ import annotations

import click

from karat.cli._options import project_option
from karat.cli._progress import end_incomplete
from karat.cli._table import emit, escaped, render


@click.command("proposals", short_help="List the proposals of a project.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, as_json: bool) -> None:
    """List all proposals, open, accepted and refused, the latest first.

    Example: karat label proposals --golden examples/hotel
    """
    from karat.labelling import list_proposals, open_desk
    from karat.schema import to_json

    document = list_proposals(open_desk(folder))
    rows = [["proposal", "state", "by", "reason", "changes"]]
    rows += [
        [row.proposal, row.state, escaped(row.by), escaped(row.reason), f"{row.changes:,}"]
        for row in document.proposals
    ]
    text = render(rows, left=4) if document.proposals else "there are no proposals; 'karat label propose' makes them"
    emit(to_json(document) if as_json else text)
    end_incomplete(document.left_out)
