"""``karat label show``: a proposal as a diff of the golden set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._golden_diff import diff_text
from karat.cli._options import project_option
from karat.cli._table import emit, escaped
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema.labelling import LabelProposal, ProposedPair

_LONGEST = 60


@click.command("show", short_help="Show a proposal as a diff of the golden set.")
@click.argument("proposal")
@project_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every change.")
def command(proposal: str, folder: str, as_json: bool) -> None:
    """Show what PROPOSAL would change in the current golden set, or what was decided about it.

    Example: karat label show 1 --golden examples/hotel
    """
    from karat.labelling import open_desk, show_proposal
    from karat.schema import to_json

    document = show_proposal(open_desk(folder), proposal)
    emit(to_json(document) if as_json else proposal_text(document))


def proposal_text(document: LabelProposal) -> str:
    """Return a proposal in words."""
    reason = f": {escaped(document.reason)}" if document.reason else ""
    lines = [f"proposal {document.proposal} by {escaped(document.by)}, {document.state}{reason}"]
    lines += [f"left out: {count_things(count, 'pair')}, since {why}" for why, count in document.left_out.items()]
    if document.diff is not None:
        spans = {(pair.query, pair.target): _quote(pair) for pair in document.pairs if _is_span(pair)}
        lines.append(diff_text(document.diff, spans))
    if document.problem:
        lines.append(f"it does not fit the current golden set: {escaped(document.problem)}")
    if document.decision is not None:
        done = "accepted" if document.decision.accepted else "refused"
        lines.append(f"{done} by {escaped(document.decision.by)}: {escaped(document.decision.reason)}")
    if document.next:
        lines.append(f"next: {escaped(document.next)}")
    return "\n".join(lines)


def _is_span(pair: ProposedPair) -> bool:
    return pair.target.startswith(f"{pair.document}@") and bool(pair.excerpt)


def _quote(pair: ProposedPair) -> str:
    """Return a document with the words of a span of it: bytes tell nobody what was selected."""
    words = " ".join(pair.excerpt.split())
    return f'{pair.document} "{words if len(words) <= _LONGEST else f"{words[:_LONGEST].rstrip()} ..."}"'
