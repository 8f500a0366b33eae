"""``karat gain``: what new documents would add."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from karat.cli._options import load_named_measures
from karat.cli._progress import Progress
from karat.cli._table import emit
from karat.core import UsageError


@click.command("gain")
@click.argument("folder", default=".", metavar="[DIR]")
@click.option("--documents", required=True, metavar="PATH", help="The new documents: a folder of files, or JSONL.")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="NAME[=WEIGHT]", callback=load_named_measures,
    help="A measure, and how much its change counts; can be repeated.  [default: R@5=1 and ContextRecall=1]",
)  # fmt: skip
@click.option("--novelty", "novelty_weight", type=float, default=0.0, show_default=True, help="The weight of novelty.")
@click.option(
    "--novelty-form", type=click.Choice(["mean", "max"]), default="mean", show_default=True,
    help="The mean over the chunks of a document, or its nearest chunk alone.",
)  # fmt: skip
@click.option("--no-cache", is_flag=True, help="Keep no chunks, indexes and embeddings on disk.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, with all documents and queries.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str, as_json: bool, as_markdown: bool, **options: Any) -> None:
    """Rank new documents by what each would add to the built-in pipeline of DIR, and rate all of them together.

    The gain is the weighted mean of the changes of measures, plus the weighted novelty, as if you evaluated the project
    without and with a document. Existing documents are not embedded again.

    Example: karat gain examples/hotel --documents new/
    """
    from karat.cli._asking import importable
    from karat.cli._gain_text import gain_text
    from karat.diagnosis import measure_gain
    from karat.schema import to_json

    if as_json and as_markdown:
        raise UsageError("--json and --markdown: choose one of them")
    importable(Path(folder))
    with Progress() as progress:
        document = measure_gain(
            folder,
            options["documents"],
            weights=dict(map(_parse_weight, options["measures"])) or None,
            novelty_weight=options["novelty_weight"],
            novelty_form=options["novelty_form"],
            cache=not options["no_cache"],
            say=progress.say,
            progress=progress,
        )
    if as_markdown:
        from karat.reports import render_gain

        emit(render_gain(document))
        return
    emit(to_json(document) if as_json else gain_text(document))


def _parse_weight(text: str) -> tuple[str, float]:
    """Return the name and the weight of a measure; the name may hold equals signs itself, as in R(rel=2)@5."""
    name, separator, weight = text.rpartition("=")
    if not separator or ")" in weight:
        return text, 1.0
    try:
        return name, float(weight)
    except ValueError:
        raise UsageError(f"measure {text!r}: {weight!r} is not a number; write it as R@5=2") from None
