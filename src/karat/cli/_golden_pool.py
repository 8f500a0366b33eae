"""``karat golden pool``: what to judge next."""

from __future__ import annotations

import json

import click

from karat.cli._table import emit, escaped


@click.command("pool", short_help="List what to judge next, from the runs of several systems.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--golden", "set_", metavar="SET", help="The golden set, for texts and for what is judged already.")
@click.option("--depth", type=click.IntRange(min=1), default=20, show_default=True, help="Pool the first so many.")
@click.option(
    "--all", "everything", is_flag=True, help="Also list the pairs that are judged already, after the others."
)
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead, whole or not at all.")
@click.option("--json", "as_json", is_flag=True, help="Print only counts, as JSON; needs --output.")
def command(
    runs: tuple[str, ...], set_: str | None, depth: int, everything: bool, output: str | None, as_json: bool
) -> None:
    """Write a file of the pairs of query and document that the RUNs have in their first ranks and nobody judged.

    One JSON record a line; annotators fill in "grade", and 'karat golden merge' takes the file back. The best ranks of
    all queries come first, so that whoever stops early has judged the top of each. Ranks and systems are not shown,
    because they sway the judge.

    Example: karat golden pool bm25.txt dense.txt --golden examples/hotel --depth 20 -o to-judge.jsonl
    """
    from karat import golden
    from karat.core import GoldenSet, UsageError
    from karat.files import write_file

    if as_json and output is None:
        raise UsageError("--json prints counts; name the file of pairs with --output")
    found = golden.read(set_) if set_ else GoldenSet()
    ranked = golden.read_runs(runs)
    pairs = golden.pool(found, ranked, depth=depth)
    strange = {query for run in ranked for query in run} - {query.id for query in found.queries}
    if set_ and strange:
        click.echo(f"karat: {len(strange):,} queries of the runs are not in the set, left out", err=True)
    unjudged = sum(pair.grade is None for pair in pairs)
    shown = pairs if everything else pairs[:unjudged]
    text = "".join(golden.pool_lines(found, shown))
    counts = {"pairs": len(pairs), "unjudged": unjudged, "written": len(shown)}
    if output is None:
        emit(text, nl=False)
    else:
        write_file(output, text)
        line = f"{escaped(output)}: {len(shown):,} of {len(pairs):,} pairs, {unjudged:,} not judged yet"
        emit(json.dumps(counts) if as_json else line)
