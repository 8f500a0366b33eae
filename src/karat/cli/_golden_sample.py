"""``karat golden sample``: a smaller set that represents the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._output import write_set
from karat.cli._progress import say
from karat.cli._table import emit, escaped, printable

if TYPE_CHECKING:
    from karat.schema import GoldenSample


@click.command("sample", short_help="Draw a stratified sample of queries.")
@click.argument("set_", metavar="SET")
@click.argument("destination")
@click.option("-n", "--n", type=click.IntRange(min=1), required=True, help="How many queries to draw.")
@click.option("--stratify", type=click.Choice(["category", "type", "intent"]), help="Keep the share of each group.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed draws the same queries.")
@click.option("--to", "to", default="karat", show_default=True, metavar="FORMAT", help="Format to write.")
@click.option("--json", "as_json", is_flag=True, help="Print what was drawn as JSON.")
def command(set_: str, destination: str, n: int, stratify: str | None, seed: int, to: str, as_json: bool) -> None:
    """Draw N queries of SET with their judgments, and write them with all documents to DESTINATION.

    SET may be a project, which stands for the set that karat.toml names.

    Example: karat golden sample examples/hotel hotel-50 --stratify category --n 50 --seed 1
    """
    from karat import golden
    from karat.schema import to_json

    gold = golden.open_set(set_)
    sample = golden.sample(gold, n, stratify=stratify, seed=seed)
    lost = write_set(sample, destination, to)
    for note in (*gold.notes, *lost):
        say(note)
    document = golden.describe_sample(sample, destination, stratify)
    emit(to_json(document) if as_json else _text(document, len(gold.queries)))


def _text(document: GoldenSample, total: int) -> str:
    shares = ", ".join(f"{printable(name) or '(none)'} {count}" for name, count in sorted(document.groups.items()))
    drawn = f"{len(document.queries):,} of {total:,} queries{': ' + shares if shares else ''}"
    return f"{escaped(document.written)}: {drawn}"
