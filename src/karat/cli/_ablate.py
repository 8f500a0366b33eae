"""``karat ablate``: what each part of the pipeline is worth."""

from __future__ import annotations

from typing import Any

import click

from karat.cli._options import load_named_measures
from karat.cli._progress import Progress
from karat.cli._table import emit


@click.command("ablate")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    callback=load_named_measures,
    help="Use this measure instead of the gated ones; can be repeated.",
)
@click.option("--policy", metavar="NAME|FILE", help="The policy that names the measures.  [default: the project's]")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="The seed of the tests: the same seed gives the same numbers.",
)
@click.option("--no-cache", is_flag=True, help="Keep no chunks, indexes and embeddings on disk.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, as_json: bool, **options: Any) -> None:
    """Turn off each channel and stage of the built-in pipeline of DIR in turn, and test what that changes.

    karat embeds each question once, and searches each channel once for it. The last lines compare words alone, the
    lexical floor, with the whole pipeline.

    Example: karat ablate examples/hotel
    """
    from karat.cli._ablate_text import ablation_text
    from karat.diagnosis import ablate
    from karat.schema import to_json

    with Progress() as progress:
        document = ablate(
            folder,
            policy=options["policy"],
            measures=options["measures"],
            seed=options["seed"],
            cache=not options["no_cache"],
            say=progress.say,
            progress=progress,
        )
    emit(to_json(document) if as_json else ablation_text(document))
