"""``karat explain``: why queries fail."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Any

import click

from karat.cli._asking import importable, parameter_option, read_parameters
from karat.cli._choosing import choose_run
from karat.cli._progress import Progress
from karat.cli._table import emit


@click.command("explain")
@click.argument("run", metavar="RUN|DIR")
@click.argument("named", metavar="[QUERY]", required=False)
@click.option("--query", metavar="ID", help="Explain one query: where each relevant document is, and why.")
@click.option("--against", metavar="RUN", help="Explain what got worse than in another run, and which stage caused it.")
@click.option(
    "--golden", "--project", metavar="DIR", help="The project of the run.  [default: the folder that the run is in]"
)
@click.option("--system", metavar="MODULE:NAME", help="The retriever that made the run, if it is your own.")
@parameter_option
@click.option("--no-ask", is_flag=True, help="Only read the run; do not ask the system again.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(run: str, named: str | None, no_ask: bool, as_json: bool, **options: Any) -> None:
    """Explain why the queries of RUN lost relevant documents, grouped by cause; the first line says what to fix.

    RUN is a file, or the label, title or commit of a run of the project in the current folder. For a project DIR, karat
    takes its newest complete run. karat asks the system that made the run again with one thing changed, such as ten
    times as many hits, one channel alone, or the paraphrases of a query. If the project has a baseline, queries that
    became worse by a measure come first.

    QUERY is the id of one query, the same as --query.

    Example: karat explain examples/hotel --query q002
    """
    from karat.cli._explain_text import explain_text
    from karat.core import UsageError
    from karat.diagnosis import explain
    from karat.schema import to_json

    query = options["query"] or named
    if named not in (None, query):
        raise UsageError(f"{named} and --query {query} are two queries; explain one at a time")
    chosen = choose_run(run, options["golden"])
    importable(chosen.project)
    # What a system prints is not part of the results.
    with Progress() as progress, redirect_stdout(sys.stderr):
        document = explain(
            chosen,
            query=query,
            against=options["against"],
            system=options["system"],
            parameters=read_parameters(options["parameters"]),
            ask=not no_ask,
            say=progress.say,
            progress=progress,
        )
    emit(to_json(document) if as_json else explain_text(document, single=query is not None))
