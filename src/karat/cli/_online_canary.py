"""``karat online canary``: whether a feature goes on to more sessions, or back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._progress import say
from karat.cli._table import bold, emit, escaped, printable, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karat.schema.watch import CanaryReport

_WIDTH = 120


@click.command("canary", short_help="Give a feature to more sessions while it does well; take it back if not.")
@click.argument("store")
@click.argument("flag", metavar="FLAG")
@click.option(
    "--project", metavar="DIR", help="The project with the golden set, its documents, and [online] in karat.toml."
)
@click.option("--apply", is_flag=True, help="Change the flag; without this option, only print the decision.")
@click.option("--at", metavar="TIME", help="Decide as of a time such as 2026-11-18T01:30:00Z (UTC).  [default: now]")
@click.option("--html", metavar="FILE", help="Also write the report to FILE as a page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    store: str,
    flag: str,
    project: str | None,
    apply: bool,
    at: str | None,
    html: str | None,
    as_json: bool,
) -> None:
    """Decide on FLAG by live traffic since its last change: compare queries with the feature and without it.

    The exit code is 0 if the feature advances or is at its last step, 1 if it is taken back, 3 if the log cannot be
    read, and 4 if it stays as it is.

    Example: karat online canary karat.db rerank --project examples/hotel --apply
    """
    from karat.cli._output import refuse_log, write_output
    from karat.monitoring import canary_exit_code, decide_canary, open_watched, parse_time
    from karat.reports import render_canary_html
    from karat.schema import to_json

    watched = open_watched(project)
    refuse_log(store, html, "--html")
    report = decide_canary(
        store,
        flag,
        watched.project,
        config=watched.config,
        now=None if at is None else parse_time(at),
        apply=apply,
    )
    if html:
        write_output(html, render_canary_html(report), "--html", private=True)
    if not as_json:
        for note in filter(None, (watched.note, *report.notes)):
            say(note)
    emit(to_json(report) if as_json else "\n\n".join(_parts(report)))
    context.exit(canary_exit_code(report))


def _parts(report: CanaryReport) -> Iterator[str]:
    from karat.reports import describe_canary, list_canary_tables

    yield bold(escaped(describe_canary(report)))
    for title, head, rows in list_canary_tables(report):
        if rows:
            cells = [[printable(cell, _WIDTH) for cell in row] for row in rows]
            yield f"{escaped(title)}\n{render([list(head), *cells], left=len(head))}"
