"""``karat shadow gate``: whether a system that ran in the shadow may become a canary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._table import emit, style

if TYPE_CHECKING:
    from karat.schema import DecisionDocument


@click.command("gate", short_help="Decide whether a shadow treatment may become a canary.")
@click.argument("store")
@click.argument("project", metavar="DIR")
@click.option(
    "--feature", default="", metavar="NAME", help="The name of the feature.  [default: the only one in STORE]"
)
@click.option("--policy", metavar="NAME|FILE", help="A policy by name, or a TOML file.  [default: blocks]")
@click.option(
    "--since", metavar="DAY", help="From this day on, such as 2026-11-01 (UTC), or 7d for the last seven days."
)
@click.option("--until", metavar="DAY", help="Up to this day, which is not included.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same numbers.")
@click.option("--html", metavar="FILE", help="Also write the decision to FILE as a page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the decision, which karat report renders.")
@click.pass_context
def command(
    context: click.Context,
    store: str,
    project: str,
    feature: str,
    policy: str | None,
    since: str | None,
    until: str | None,
    seed: int,
    html: str | None,
    as_json: bool,
) -> None:
    """Gate the treatment of the shadow runs in STORE, on the mirrored questions that the golden set of DIR has.

    The control's answers to the same questions are the baseline. The exit code is 0 for pass, 1 for fail, 3 if too many
    questions failed, and for inconclusive 0 or 4, as the policy says.

    Example: karat shadow gate karat.db examples/hotel --feature mine --policy blocks
    """
    from karat.cli._days import parse_day
    from karat.cli._gate import deliver
    from karat.cli._output import write_output
    from karat.files import refuse_input
    from karat.online.shadow import gate_shadow
    from karat.projects import open_project, report_document
    from karat.reports import render_html, render_text
    from karat.schema import to_json

    result = gate_shadow(
        store,
        open_project(project),
        feature,
        policy=policy,
        since=parse_day(since, "--since"),
        until=parse_day(until, "--until"),
        seed=seed,
    )
    if html:
        refuse_input(html, "--html")  # a wrong name is no decision
    document: DecisionDocument = report_document(result, brief=not (as_json or html))

    def show() -> None:
        emit(to_json(document) if as_json else render_text(document, run="", style=style()))

    def write() -> None:
        if html:
            write_output(html, render_html(document), "--html", private=True)

    context.exit(deliver(document, show, write))
