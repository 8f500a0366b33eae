"""``karat golden convert``: from one format to another, saying what is lost."""

from __future__ import annotations

import json

import click

from karat.cli._table import emit, escaped


@click.command("convert", short_help="Convert a golden set to another format.")
@click.argument("source")
@click.argument("destination")
@click.option("--to", "to", default="karat", show_default=True, metavar="FORMAT", help="Format to write.")
@click.option("--from", "from_", metavar="FORMAT", help="Format of SOURCE, when it should not be recognised.")
@click.option("--documents", metavar="PATH", help="Folder or JSONL of documents, for a format that holds none.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def command(source: str, destination: str, to: str, from_: str | None, documents: str | None, as_json: bool) -> None:
    """Read the golden set SOURCE and write it to DESTINATION, a name that is not taken yet.

    Formats: karat, fit, beluga, agent, rig, blocks, beir, trec, ragas, deepeval, chroma; and, only read, attack and
    smart. What reading noticed and what the new format cannot hold is told on standard error.

    Example: karat golden convert examples/hotel hotel-beir --to beir
    """
    from karat import golden

    found = golden.read(source, from_, documents=documents)
    lost = golden.write(found, destination, to)
    counts = {
        "documents": len(found.documents),
        "queries": len(found.queries),
        "judgments": len(found.judgments),
    }
    for note in (*found.notes, *lost):
        click.echo(f"karat: {escaped(note)}", err=True)
    if as_json:
        emit(json.dumps({"written": destination, "format": to, **counts, "notes": found.notes, "lost": lost}))
    else:
        emit(f"{escaped(destination)}: " + ", ".join(f"{count:,} {name}" for name, count in counts.items()))
