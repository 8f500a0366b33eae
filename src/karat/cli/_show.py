"""``karat show``: one query of a run, in the terminal."""

from __future__ import annotations

import click

from karat.cli._choosing import choose_run
from karat.cli._table import emit


@click.command("show")
@click.argument("run", metavar="RUN|DIR")
@click.argument("query", metavar="QUERY")
@click.option(
    "--golden", "--project", metavar="DIR", help="The project of the run.  [default: the folder that the run is in]"
)
@click.option(
    "--baseline", metavar="FILE", help="The baseline to compare with.  [default: baseline.json of the project]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, query: str, golden: str | None, baseline: str | None, as_json: bool) -> None:
    """Show what RUN returned for QUERY, the id of a query, beside the judgments and the baseline.

    RUN is a file, or the label, title or commit of a run of the project in the current folder. For a project DIR, karat
    takes its newest complete run.

    Example: karat show examples/hotel Q1
    """
    from karat.cli._show_text import query_text
    from karat.projects import show_query
    from karat.schema import to_json

    chosen = choose_run(run, golden)
    shown = show_query(chosen.path, query, golden=chosen.project, baseline=baseline)
    emit(to_json(shown) if as_json else query_text(shown))
