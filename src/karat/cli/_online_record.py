"""``karat online record``: a run and its decision, in the store beside live queries."""

from __future__ import annotations

import click

from karat.cli._table import emit, escaped

_KINDS = click.Choice(["full", "shadow", "regression", "ab_test"])


@click.command("record", short_help="Record a run and the gate's decision in a store.")
@click.argument("report")
@click.argument("store", metavar="[STORE]", default="karat.db")
@click.option("--kind", type=_KINDS, default="regression", show_default=True, help="What the run was for.")
@click.option("--feature", metavar="NAME", default="", help="What was tried.")
@click.option("--control", metavar="RUN", default="", help="The recorded run that it was compared with.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(report: str, store: str, kind: str, feature: str, control: str, as_json: bool) -> None:
    """Record in STORE the run and the decision of REPORT, which karat check --json or karat gate --json printed.

    Recording the same decision again changes nothing. karat online health shows the last one.

    Example: karat online record report.json karat.db
    """
    from karat.online import record_report
    from karat.schema import to_json

    document = record_report(store, report, kind=kind, feature=feature, control=control)
    if as_json:
        emit(to_json(document))
    else:
        emit(f"{escaped(document.run)} {'is recorded' if document.new else 'was recorded already'} in {escaped(store)}")
