"""``karat golden sample``: a smaller set that stands for the whole."""

from __future__ import annotations

import json
from collections import Counter

import click

from karat.cli._table import emit, escaped, printable


@click.command("sample", short_help="Draw a stratified sample of queries.")
@click.argument("set_", metavar="SET")
@click.argument("destination")
@click.option("--n", type=click.IntRange(min=1), required=True, help="How many queries to draw.")
@click.option("--stratify", type=click.Choice(["category", "type", "intent"]), help="Keep the share of each group.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same queries.")
@click.option("--to", "to", default="karat", show_default=True, metavar="FORMAT", help="Format to write.")
@click.option("--json", "as_json", is_flag=True, help="Print what was drawn as JSON.")
def command(set_: str, destination: str, n: int, stratify: str | None, seed: int, to: str, as_json: bool) -> None:
    """Draw N queries of SET with their judgments, and write them with all documents to DESTINATION.

    Example: karat golden sample examples/hotel hotel-50 --stratify category --n 50 --seed 1
    """
    from karat import golden

    found = golden.read(set_)
    drawn = golden.sample(found, n, stratify=stratify, seed=seed)
    lost = golden.write(drawn, destination, to)
    for note in (*found.notes, *lost):
        click.echo(f"karat: {escaped(note)}", err=True)
    groups = Counter(getattr(query, stratify) for query in drawn.queries) if stratify else Counter()
    if as_json:
        emit(json.dumps({"written": destination, "queries": [query.id for query in drawn.queries], "groups": groups}))
        return
    shares = ", ".join(f"{printable(name) or '(none)'} {count}" for name, count in sorted(groups.items()))
    emit(f"{escaped(destination)}: {n:,} of {len(found.queries):,} queries{': ' + shares if shares else ''}")
