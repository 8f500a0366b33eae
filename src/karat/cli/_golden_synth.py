"""``karat golden synth``: a golden set made by machine, as a start."""

from __future__ import annotations

from pathlib import Path

import click

from karat.cli._output import write_set
from karat.cli._progress import say
from karat.cli._table import emit, escaped
from karat.core import count_things


@click.command("synth", short_help="Make a golden set from documents, or one with hidden facts.")
@click.argument("paths", nargs=-1, required=True, metavar="[DOCUMENTS] DESTINATION")
@click.option("--per-document", type=click.IntRange(min=1), default=3, show_default=True, help="Queries per document.")
@click.option("--needles", type=click.IntRange(min=1), help="Instead, hide this many facts in made-up logs.")
@click.option(
    "--logs", type=click.IntRange(min=1), default=8, show_default=True, help="With --needles: the number of logs."
)
@click.option(
    "--lines", type=click.IntRange(min=1), default=200, show_default=True, help="With --needles: lines per log."
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="With --needles: the same seed gives the same bytes."
)
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

    The queries are sentences of the documents, each with its document as the only relevant one. They are enough to try
    a pipeline, but easy for every lexical retriever. With --needles, no documents are read.

    Example: karat golden synth docs starter --per-document 2
    """
    from karat import golden
    from karat.core import UsageError
    from karat.files import Reading
    from karat.schema import to_json

    if len(paths) != (2 if needles is None else 1):
        raise UsageError("name DOCUMENTS and DESTINATION, or --needles and DESTINATION")
    *sources, destination = paths
    if needles is not None:
        gold = golden.needles(documents=logs, lines=lines, needles=needles, seed=seed)
    else:
        reading = Reading()
        documents = golden.read_documents(Path(sources[0]), reading)
        reading.finish()
        for note in reading.notes():
            say(note)
        gold = golden.synthesise(documents, per_document, name=Path(destination).name)
    write_set(gold, destination)
    document = golden.describe_synthesis(gold, destination)
    text = (
        f"{escaped(destination)}: {count_things(document.queries, 'query', 'queries')} "
        f"from {count_things(document.documents, 'document')}"
    )
    emit(to_json(document) if as_json else text)
