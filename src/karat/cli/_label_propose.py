"""``karat label propose``: propose what people said as gold."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._label_show import proposal_text
from karat.cli._options import project_option
from karat.cli._table import emit


@click.command("propose", short_help="Propose the labels of a queue, or a wording, as gold.")
@click.argument("queue", required=False, default="")
@click.option("--who", required=True, metavar="NAME", help="Who proposes.")
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@click.option("--unfinished", is_flag=True, help="Include pairs that have fewer labels than they need.")
@click.option(
    "--query", default="", metavar="ID", help="Instead of labels, propose a new wording of this query, or a new query."
)
@click.option("--paraphrase", default="", metavar="TEXT", help="Another wording of --query.")
@click.option("--text", default="", metavar="TEXT", help="A new text for --query.")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(queue: str, query: str, folder: str, as_json: bool, **options: Any) -> None:
    """Propose the labels of QUEUE as judgments of the golden set, or another wording of one of its queries.

    Disputes that nobody settled, and pairs that have fewer labels than they need, are left out and counted. The golden
    set changes only when somebody accepts the proposal.

    Example: karat label propose first --who ana --golden examples/hotel
    """
    from karat.core import UsageError
    from karat.labelling import describe_proposal, open_desk, propose_labels, propose_wording
    from karat.schema import to_json

    desk = open_desk(folder)
    if bool(queue) == bool(query):
        both = ", and not both" if query else ""
        raise UsageError(f"name a queue whose labels are proposed, or a query with --query{both}")
    if query:
        proposal = propose_wording(desk, query, **_choose(options, "text", "paraphrase"))
    else:
        proposal = propose_labels(desk, queue, **_choose(options, "unfinished"))
    document = describe_proposal(desk, proposal)
    emit(to_json(document) if as_json else proposal_text(document))


def _choose(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {"by": options["who"], "reason": options["reason"]} | {name: options[name] for name in names}
