"""``karat migrate blocks``: where each block went from one version of an index to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._progress import say
from karat.cli._table import bold, emit, emit_data, escaped, printable, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karat.schema.migration import MigrationCheck, MigrationReport

_SHOWN = 10


@click.command("blocks", short_help="Map the blocks of one version of an index to those of the next.")
@click.argument("before")
@click.argument("after")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write the table here, one line for each document; - is standard output, without the report.",
)
@click.option("--history", metavar="FILE", help="Write the new blocks with their former ids (id_prev) here.")
@click.option(
    "--cut", default="outline", show_default=True, metavar="CUT",
    help="Blocks of both: outline, pipeline (the project's chunker), or a chunker such as sentence,size=128.",
)  # fmt: skip
@click.option("--new-cut", metavar="CUT", help="Blocks of AFTER.  [default: those of --cut]")
@click.option("--from", "from_", default="", metavar="VERSION", help="Name of the old version.  [default: a digest]")
@click.option("--to", default="", metavar="VERSION", help="Name of the new version.  [default: a digest]")
@click.option("--gone", metavar="FILE", help="Blocks that are confirmed to be gone: JSONL with doc_id and block.")
@click.option(
    "--least", type=click.IntRange(min=1), default=200, show_default=True,
    help="The least number of blocks for a verdict.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def command(
    context: click.Context,
    before: str,
    after: str,
    output: str | None,
    history: str | None,
    cut: str,
    new_cut: str | None,
    from_: str,
    to: str,
    gone: str | None,
    least: int,
    as_json: bool,
) -> None:
    """Find every block of BEFORE in AFTER, and check that enough are found, at the right place.

    BEFORE and AFTER are projects, golden sets, folders of documents, or JSONL files with the blocks of an index: id,
    document, text, and optionally offsets. The exit code is 1 if a target is missed: 99.5 % of the blocks have a place
    in AFTER, redirected bytes drift by at most 0.5 % of their document, and no id occurs twice. It is 4 if there are
    too few blocks.

    Example: karat migrate blocks documents-v1 documents-v2 -o moves.jsonl
    """
    from karat import migration
    from karat.cli._output import STDOUT, write_output
    from karat.core import UsageError
    from karat.schema import to_json

    migrated = migration.migrate(
        migration.read_editions(before, cut=cut, version=from_),
        migration.read_editions(after, cut=new_cut or cut, version=to),
        gone=migration.parse_gone(gone) if gone else (),
        targets=migration.Targets(least=least),
        before=before,
        after=after,
    )
    table = migration.encode_table(migrated.table)
    if output in STDOUT and as_json:
        raise UsageError("--json prints the report; name the file of the table with --output")
    if output and output not in STDOUT:
        write_output(output, table)
    if history:
        rows = "".join(f"{to_json(row)}\n" for row in migration.list_history(migrated.table))
        write_output(history, rows, "--history")
    report = migrated.report
    if not as_json:
        for note in report.notes:
            say(note)
    if output in STDOUT:
        emit_data(table)
    else:
        emit(to_json(report) if as_json else "\n\n".join(_parts(report)))
    context.exit(migration.verdict_code(report.verdict))


def _parts(report: MigrationReport) -> Iterator[str]:
    documents = ", ".join(f"{number:,} {name}" for name, number in report.documents.items() if number)
    moves = ", ".join(f"{number:,} {name}" for name, number in report.moves.items() if number)
    yield "\n".join([bold(f"migration: {report.verdict}"), f"documents: {documents}", f"blocks: {moves or 'none'}"])
    yield render_checks(report.checks)
    if report.unmapped:
        rows = [
            [printable(row.doc_id), printable(row.block), printable(row.text, 48)] for row in report.unmapped[:_SHOWN]
        ]
        more = len(report.unmapped) - len(rows)
        yield "\n".join(
            [render([["unmapped in", "block", "first words"], *rows], left=3)]
            + ([f"and {more:,} more (--json shows all)"] if more else [])
        )


def render_checks(checks: tuple[MigrationCheck, ...]) -> str:
    """Return the targets as a table."""
    rows = [["target", "value", "asked for", "n", "verdict"]]
    for check in checks:
        value = "-" if check.value is None else f"{check.value:.4f}".rstrip("0").rstrip(".")
        rows.append([check.name, value, check.target, f"{check.n:,}", check.verdict])
    reasons = [f"{check.name}: {escaped(check.reason)}" for check in checks if check.reason]
    return "\n".join([render(rows), *reasons])
