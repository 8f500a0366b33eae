"""``karat golden convert``: a golden set in another format, with notes on what is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from karat.cli._output import write_set
from karat.cli._progress import say
from karat.cli._table import emit, escaped
from karat.core import count_things

if TYPE_CHECKING:
    from karat.schema import GoldenConversion


@click.command("convert", short_help="Convert a golden set to another format.")
@click.argument("source")
@click.argument("destination")
@click.option("--to", "to", default="karat", show_default=True, metavar="FORMAT", help="Format to write.")
@click.option("--from", "from_", metavar="FORMAT", help="Format of SOURCE, if karat should not guess it.")
@click.option("--documents", metavar="PATH", help="Folder or JSONL of documents, for a format that holds none.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(source: str, destination: str, to: str, from_: str | None, documents: str | None, as_json: bool) -> None:
    """Read the golden set SOURCE, or that of a project, and write it to DESTINATION, which must not exist yet.

    Formats: karat, fit, beluga, agent, rig, blocks, beir, trec, ragas, deepeval and chroma; attack and smart can only
    be read. Standard error lists what karat noticed when reading, and what the new format cannot hold.

    Example: karat golden convert examples/hotel hotel-beir --to beir
    """
    from karat import golden
    from karat.schema import to_json

    gold = golden.open_set(source, from_, documents=documents)
    lost = write_set(gold, destination, to)
    for note in (*gold.notes, *lost):
        say(note)
    document = golden.describe_conversion(gold, destination, to, lost)
    emit(to_json(document) if as_json else _text(document))


def _text(document: GoldenConversion) -> str:
    counts = (
        f"{count_things(document.documents, 'document')}, "
        f"{count_things(document.queries, 'query', 'queries')}, {count_things(document.judgments, 'judgment')}"
    )
    return f"{escaped(document.written)}: {counts}"
