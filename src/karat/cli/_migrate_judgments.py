"""``karat migrate judgments``: a golden set that follows its documents to a new version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._output import write_output, write_set
from karat.cli._progress import say
from karat.cli._table import emit, escaped, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from collections.abc import Iterator

    from karat.schema.migration import CarriedJudgments

_SHOWN = 10


@click.command("judgments", short_help="Carry the judgments of a golden set to new versions of its documents.")
@click.argument("set_", metavar="SET")
@click.argument("table")
@click.option("--documents", metavar="AFTER", help="New version of the documents: a set, a project, a folder or JSONL.")
@click.option("-o", "--output", metavar="DIR", help="Write the proposed set here; without it, only report.")
@click.option("--pool", metavar="FILE", help="Write what a person has to judge here, for 'karat golden merge'.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(set_: str, table: str, documents: str | None, output: str | None, pool: str | None, as_json: bool) -> None:
    """Propose a golden set for the new version of its documents, with the TABLE of 'karat migrate blocks'.

    A judgment is carried over if its text is the same word for word. If words changed or a block was split, a person
    has to judge again; --pool writes those rows. SET itself is not touched.

    Example: karat migrate judgments golden-v1 moves.jsonl --documents documents-v2 -o golden-v2 --pool look.jsonl
    """
    from karat import golden, migration
    from karat.schema import to_json

    proposal = migration.carry_judgments(
        golden.open_set(set_),
        migration.read_table(table),
        migration.read_new_documents(documents) if documents else (),
    )
    if output:
        write_set(proposal.golden, output, option="--output")
    if pool:
        write_output(pool, golden.pool_text(proposal.rows), "--pool")
    report = proposal.report
    if not as_json:
        for note in report.notes:
            say(note)
    emit(to_json(report) if as_json else "\n\n".join(_parts(report, output, pool)))


def _parts(report: CarriedJudgments, output: str | None, pool: str | None) -> Iterator[str]:
    counts = (
        f"{report.carried:,} carried, {report.to_judge:,} to judge "
        f"({count_things(report.rows, 'row')}), {report.lost:,} lost"
    )
    where = escaped(output) if output else "nothing written (name --output)"
    lines = [f"{where}: of {report.judgments:,} judgments {counts}"]
    if report.hints or report.lost_hints:
        lines.append(f"anchors, negatives and first chunks: {report.hints:,} moved, {report.lost_hints:,} lost")
    if output and pool and report.rows:
        lines.append(f"judge {escaped(pool)}, then: karat golden merge {escaped(output)} {escaped(pool)} --in-place")
    yield "\n".join(lines)
    doubtful = [change for change in report.changes if change.outcome != "carried"]
    if doubtful:
        rows = [
            [printable(row.query), printable(row.target), str(row.grade), row.outcome, escaped(row.reason)]
            for row in doubtful[:_SHOWN]
        ]
        more = len(doubtful) - len(rows)
        yield "\n".join(
            [render([["query", "judged", "grade", "now", "why"], *rows], left=2)]
            + ([f"and {more:,} more (--json shows all)"] if more else [])
        )
