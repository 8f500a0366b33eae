"""``karat golden synth``: a golden set made by machine, to start with."""

from __future__ import annotations

import json
from pathlib import Path

import click

from karat.cli._table import emit, escaped


@click.command("synth", short_help="Make a golden set from documents, or one with hidden facts.")
@click.argument("paths", nargs=-1, required=True, metavar="[DOCUMENTS] DESTINATION")
@click.option("--per-document", type=click.IntRange(min=1), default=3, show_default=True, help="Queries per document.")
@click.option("--needles", type=click.IntRange(min=1), help="Instead: hide so many facts in made-up logs.")
@click.option("--logs", type=click.IntRange(min=1), default=8, show_default=True, help="With --needles: logs.")
@click.option(
    "--lines", type=click.IntRange(min=1), default=200, show_default=True, help="With --needles: lines a log."
)
@click.option("--seed", type=int, default=1, show_default=True, help="With --needles: the same seed, the same bytes.")
@click.option("--json", "as_json", is_flag=True, help="Print what was made as JSON.")
def command(
    paths: tuple[str, ...],
    per_document: int,
    needles: int | None,
    logs: int,
    lines: int,
    seed: int,
    as_json: bool,
) -> None:
    """Make queries from DOCUMENTS (a folder of .md, .txt and .json files, or a JSONL file), and write to DESTINATION.

    The queries are sentences of the documents, each with its document as the only relevant one: enough to try a
    pipeline with, and easy for every lexical retriever. With --needles no documents are read.

    Example: karat golden synth docs starter --per-document 2
    """
    from karat import golden
    from karat.core import UsageError

    if len(paths) != (2 if needles is None else 1):
        raise UsageError("give DOCUMENTS and DESTINATION, or --needles and DESTINATION")
    *documents, destination = paths
    if needles is not None:
        made = golden.needles(documents=logs, lines=lines, needles=needles, seed=seed)
    else:
        reading = golden.Reading()
        found = golden.read_documents(Path(documents[0]), reading)
        reading.finish()
        for note in reading.notes():
            click.echo(f"karat: {escaped(note)}", err=True)
        made = golden.synthesise(found, per_document, name=Path(destination).name)
    golden.write(made, destination)
    counts = {"documents": len(made.documents), "queries": len(made.queries)}
    if as_json:
        emit(json.dumps({"written": destination, **counts, "fingerprint": golden.fingerprint(made)}))
    else:
        emit(f"{escaped(destination)}: {counts['queries']:,} queries from {counts['documents']:,} documents")
