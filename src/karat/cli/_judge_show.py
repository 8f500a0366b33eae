"""``karat judge show``: what a judge is sent."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._choosing import choose_run
from karat.cli._table import emit

_FORMATS = ("json_schema", "json_object", "prompt")


@click.command("show", short_help="Print exactly what a judge sends to the model.")
@click.argument("judge", metavar="JUDGE")
@click.argument("run", default=".", metavar="[RUN|DIR]")
@click.option(
    "--query", metavar="ID", help="Show the requests about the answer to this query of the run.  [default: an example]"
)
@click.option(
    "--golden", "--project", "folder", metavar="DIR", help="The project of the run, if the run is not in its folder."
)
@click.option(
    "--reply-format",
    "rung",
    type=click.Choice(_FORMATS),
    default="json_schema",
    show_default=True,
    help="How to ask the server for JSON; a real run finds out by asking.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the bodies of the requests.")
def command(judge: str, run: str, query: str | None, folder: str | None, rung: Any, as_json: bool) -> None:
    """Print every request that JUDGE makes about one answer: the instructions, the texts, and the schema of the reply.

    Nothing is sent. If a request contains something from an earlier reply, such as a claim, karat takes it from the
    replies that the project has kept, or else describes it in brackets. DIR is a project, whose prompts and model are
    used.

    Example: karat judge show faithfulness examples/hotel
    """
    from pathlib import Path

    from karat.cli._judge_text import requests_text
    from karat.core import UsageError
    from karat.projects import open_project
    from karat.projects.judging import show_requests
    from karat.schema import to_json

    if query is None:
        place = folder or run
        if run != "." and not Path(run, "karat.toml").is_file():
            raise UsageError(f"{run} is not a project; name a project, or a query of a run with --query")
        project = open_project(place) if Path(place, "karat.toml").is_file() else None
        requests = show_requests(project, judge, rung=rung)
    else:
        chosen = choose_run(run, folder)
        requests = show_requests(open_project(chosen.project), judge, path=chosen.path, query=query, rung=rung)
    emit(to_json(requests) if as_json else requests_text(requests))
