"""``karat fuse``: fuse several runs into one."""

from __future__ import annotations

import os
from typing import Any

import click

from karat.cli._choice import Choice
from karat.cli._output import STDOUT, write_output
from karat.cli._progress import say
from karat.cli._table import emit, emit_data, escaped
from karat.core import count_things

_METHODS = ["rrf", "isr", "weighted", "combsum", "combmnz"]
_TAKEN_BY = {"k": ("rrf",), "norm": ("weighted", "combsum", "combmnz")}
"""The methods that an option has an effect on."""


@click.command("fuse")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--method", type=Choice(_METHODS), default="rrf", show_default=True, help="How to fuse.")
@click.option(
    "-k",
    "--k",
    type=float,
    help="For rrf: a larger value makes the first ranks stand out less; 60 by default.",
)
@click.option(
    "--weights",
    metavar="W,W...",
    help="For rrf and weighted: a weight for each run, in order; 1 for all by default.",
)
@click.option(
    "--norm",
    type=Choice(["minmax", "z", "rank"]),
    help="For weighted, combsum and combmnz: how to normalise the scores of a run; minmax by default.",
)
@click.option(
    "--depth", type=click.IntRange(min=1), default=1000, show_default=True, help="Documents to keep per query."
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE instead, completely or not at all; - is standard output."
)
@click.option("--json", "as_json", is_flag=True, help="Print only what was done, as JSON; needs --output.")
def command(runs: tuple[str, ...], **options: Any) -> None:
    """Fuse two or more RUNs into one, and write it in TREC format, with the method as its tag.

    Runs are in any format that 'karat score' reads; - is standard input. A folder stands for all runs in it, and a
    project for its folder of runs. rrf adds 1 / (k + rank), isr 1 / rank^2 times
    the number of runs that have the document; both look at ranks only. weighted and combsum add normalised scores, and
    combmnz multiplies the sum by the number of runs. A run adds nothing to a document that it does not have.

    Example: karat fuse bm25.txt dense.txt --method rrf --k 60 -o hybrid.txt
    """
    from karat.golden import read_runs
    from karat.schema import to_json
    from karat.systems import Fusion, describe_fusion, format_trec, fuse

    _check_usage(runs, options)
    ranked = read_runs(runs, passages=False)
    for note in (*_find_idle(options), *ranked.notes):
        say(note)
    runs = ranked.files
    _check_runs(runs)
    weights = _weights(runs, options["weights"])
    chosen = {name: options[name] for name in _TAKEN_BY if options[name] is not None}
    fusion = Fusion(method=options["method"], weights=weights, **chosen)
    fused = fuse(dict(zip(runs, ranked.tables, strict=True)), fusion, depth=options["depth"])
    text = "".join(format_trec(fused, tag=fusion.method))
    for run, table in zip(runs, ranked.tables, strict=True):
        if lacking := len(fused.keys() - table.keys()):
            say(f"{run}: lacks {lacking:,} of {count_things(len(fused), 'query', 'queries')}")
    if options["output"] in (None, *STDOUT):
        emit_data(text)
        return
    write_output(options["output"], text)
    document = describe_fusion(fused, fusion, options["output"], runs, depth=options["depth"])
    size = f"{count_things(document.queries, 'query', 'queries')}, {count_things(document.hits, 'hit')}"
    emit(to_json(document) if options["as_json"] else f"{escaped(options['output'])}: {size}")


def _check_usage(runs: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse options that contradict each other before anything is read."""
    from karat.core import UsageError

    if len(runs) < 2 and not os.path.isdir(runs[0]):  # noqa: PTH112 (pathlib raises on odd names)
        raise UsageError("one run cannot be fused; name two or more")
    if repeated := [run for run in runs if runs.count(run) > 1]:
        raise UsageError(f"{repeated[0]} appears twice; name it once, with a weight if it should count for more")
    if options["as_json"] and options["output"] in (None, *STDOUT):
        raise UsageError("--json prints what was done; name the file of the run with --output")


def _find_idle(options: dict[str, Any]) -> list[str]:
    """Return a note for each option that was given and changes nothing."""
    return [
        f"--{name} has no effect with --method {options['method']}, only with {', '.join(methods)}"
        for name, methods in _TAKEN_BY.items()
        if options[name] is not None and options["method"] not in methods
    ]


def _check_runs(runs: tuple[str, ...]) -> None:
    """Refuse a single run of a folder, and a run that is named twice."""
    from karat.core import UsageError

    if len(runs) < 2:
        raise UsageError(f"one run cannot be fused, and {runs[0]} is the only one; name two or more")
    if repeated := [run for run in runs if runs.count(run) > 1]:
        raise UsageError(f"{repeated[0]} appears twice; name it once, with a weight if it should count for more")


def _weights(runs: tuple[str, ...], text: str | None) -> dict[str, float]:
    """Return a weight for each run, from numbers separated by commas."""
    from karat.core import UsageError

    if text is None:
        return {}
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--weights {text}: write numbers separated by commas, such as 0.3,0.7") from None
    if len(weights) != len(runs):
        raise UsageError(
            f"--weights {text}: {len(weights)} for {count_things(len(runs), 'run')}; write one for each, in order"
        )
    return dict(zip(runs, weights, strict=True))
