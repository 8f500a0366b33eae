"""``karat label queue``: make a queue of pairs that people label."""

from __future__ import annotations

import os
from typing import Any

import click

from karat.cli._options import project_option
from karat.cli._progress import say
from karat.cli._table import emit, escaped

_KINDS = ("pool", "decide", "rows", "uncertain", "disputes")
_RUNS = ("pool", "decide")


@click.command("queue", short_help="Make a queue of pairs for people to label.")
@click.argument("name")
@click.argument("sources", nargs=-1, metavar="[RUN|FILE]...")
@project_option
@click.option("--kind", type=click.Choice(_KINDS), default="pool", show_default=True, help="Which pairs to ask about.")
@click.option("--depth", type=click.IntRange(min=1), default=20, show_default=True, help="Ranks of a pool.")
@click.option(
    "-m",
    "--measure",
    metavar="MEASURE",
    default="DCG@10",
    show_default=True,
    help="For decide: the measure to compare two runs by.",
)
@click.option("--overlap", type=float, default=0.2, show_default=True, help="Share of pairs that several people label.")
@click.option("--people", type=int, default=2, show_default=True, help="How many people label such a pair.")
@click.option("--adjudicator", default="", metavar="NAME", help="Who settles disputes.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws which pairs several people label.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(sources: tuple[str, ...], folder: str, as_json: bool, **options: Any) -> None:
    """Make the queue NAME in the project: a list of pairs of query and document to ask people about.

    pool: what RUNs, of any kind that karat reads, have in their first ranks and nobody judged. decide: what two RUNs
    rank differently, the pairs that tell most about which is better first. rows: the rows without a grade of FILEs of
    'karat golden pool', or of candidates of 'karat harvest'. uncertain: what machines graded ('karat golden judge'),
    the least certain first. disputes: what people disagree on, for the adjudicator.

    Example: karat label queue first bm25.txt dense.txt --golden examples/hotel --overlap 0.3
    """
    from karat.labelling import QueuePlan, make_queue, measure_queue, open_desk
    from karat.schema import to_json

    if options["kind"] in _RUNS:
        sources = tuple(_find_run(source, folder) for source in sources)
    desk = open_desk(folder)
    queue, notes = make_queue(desk, QueuePlan(sources=sources, **options))
    for note in notes:
        say(note)
    document = measure_queue(desk, queue.name)
    text = f"{escaped(document.queue)}: {escaped(document.about)}"
    if document.kind != "disputes":
        text += f"; {document.several:,} of them for several people"
    emit(to_json(document) if as_json else text)


def _find_run(run: str, folder: str) -> str:
    """Return a path as it is, and otherwise the file of the run of the project that has this label, title or commit."""
    from karat.projects.saved_runs import find_run

    return run if os.path.lexists(run) else str(find_run(run, golden=folder, say=say))
