"""``karat score``: measures of one run or several."""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._options import measures_option
from karat.cli._output import STDOUT, write_output
from karat.cli._process import tune
from karat.cli._table import bold, emit, render

if TYPE_CHECKING:
    from karat.core import Scores
    from karat.schema import ScoreReport

_FORMATS = ["trec", "json", "jsonl", "csv", "tsv", "parquet"]
_CONVENTIONS = ["karat", "trec", "fit", "beluga", "agent", "rig", "blocks"]


@click.command("score")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@measures_option
@click.option("--per-query", is_flag=True, help="Also show every query's values.")
@click.option("--by", metavar="FIELD", help="Show means by a field of the queries, such as category.")
@click.option(
    "--queries", metavar="FILE", help="The table of queries with the field; by default the judgments have it."
)
@click.option("--bounds", is_flag=True, help="Show how far unjudged documents in the top k could move each mean.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, values at full precision.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write to FILE instead, completely or not at all, as its ending says: .txt, .json, .csv, .tsv, .md, .html or "
    ".tex. - is standard output.",
)
@click.option("--format", type=click.Choice(_FORMATS), help="Format of the files; by default karat recognises it.")
@click.option(
    "--conventions",
    type=click.Choice(_CONVENTIONS),
    default="karat",
    show_default=True,
    help="The definitions to follow.",
)
@click.option(
    "--undefined",
    type=click.Choice(["exclude", "zero", "one"]),
    help="How to score a query without relevant documents.",
)
@click.option(
    "--missing", type=click.Choice(["zero", "exclude"]), help="How to score a judged query that is not in the run."
)
@click.option("--classes", metavar="FILE", help="Interchangeable documents: lines of document and class.")
@click.option(
    "--pass-at",
    type=click.IntRange(min=1),
    metavar="K",
    help="Treat the runs as trials of one system, and show pass@K and pass^K.",
)
@click.option(
    "--engine",
    metavar="ADDRESS",
    help="Where to read Parquet runs: local, spark://HOST:PORT or local-cluster[WORKERS,CORES,MB].",
)
@click.option(
    "--threshold",
    type=float,
    default=1.0,
    show_default=True,
    help="With --pass-at: the lowest score that counts as success.",
)
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Score each RUN against the judgments in QRELS.

    Files are TREC, JSON, JSONL, CSV, TSV or Parquet, gzipped or not; - is standard input. A run may also be one that
    'karat eval' wrote, a trace file, spans of a tracing tool, or a folder of Parquet files. Several runs make one
    table, with the best value of each measure marked.

    Example: karat score qrels.txt bm25.txt dense.txt -m nDCG@10 -m R@100 --json
    """
    tune(runs)
    from karat.measures import pass_at_k, read_field, score_report
    from karat.reports import SCORE_FORMATS, render_scores

    _check_usage([qrels, *runs], options)
    by, fields, output = options["by"], options["queries"], options["output"]
    chosen = _choose_format(output, as_json=options["as_json"])
    groups = read_field(fields or qrels, by, None if fields else options["format"]) if by else None
    scores = _score(qrels, runs, options)
    if options["pass_at"]:
        name = "1 trial" if len(runs) == 1 else f"{len(runs)} trials"
        scores = [pass_at_k(scores, options["pass_at"], threshold=options["threshold"], name=name)]
    report = score_report(
        scores, qrels=qrels, conventions=options["conventions"], per_query=options["per_query"], by=by, groups=groups
    )
    unmatched = frozenset(run.name for run in scores if run.judged_retrieved == 0)
    if chosen in SCORE_FORMATS:
        text = render_scores(report, chosen, unmatched)
    elif options["as_json"] or chosen == "json":
        from karat.schema import to_json

        # In ASCII: no terminal's encoding can spoil it, and no character of an id can act on the terminal.
        text = to_json(report) + "\n"
    else:
        text = _text(report, unmatched) + "\n"
    if output in (None, *STDOUT):
        emit(text, nl=False)
    else:
        write_output(output, click.unstyle(text))


def _check_usage(inputs: list[str], options: dict[str, Any]) -> None:
    """Refuse options that contradict each other before anything is read."""
    from karat.core import UsageError

    if options["queries"] and not options["by"]:
        raise UsageError("--queries needs a field; name it with --by")
    if not math.isfinite(options["threshold"]):
        raise UsageError(f"--threshold {options['threshold']} is not a finite number")
    if options["bounds"] and options["pass_at"]:
        raise UsageError("--bounds are those of single runs; leave out --pass-at")
    paths = inputs + [options[name] for name in ("queries", "classes") if options[name]]
    if options["by"] and not options["queries"]:
        paths.append(inputs[0])  # once for the judgments, and once for the field
    if paths.count("-") > 1:
        raise UsageError("standard input (-) can be read only once; write it to a file first")


def _choose_format(output: str | None, *, as_json: bool) -> str:
    """Return the format that the ending of a file names; "" for text. An ending that names another is refused."""
    from karat.core import UsageError
    from karat.reports import SCORE_FORMATS

    ending = "" if output in (None, *STDOUT) else os.path.splitext(output)[1].lower().removeprefix(".")  # noqa: PTH122
    if ending in ("", "txt"):
        return ""
    if ending not in ("json", *SCORE_FORMATS):
        known = ", ".join(f".{name}" for name in sorted((*SCORE_FORMATS, "json", "txt")))
        hint = "; in Python, karat.score(...).to_polars() is a data frame" if ending in ("parquet", "xlsx") else ""
        raise UsageError(f"--output {output}: no format ends in .{ending}; choose from {known}{hint}")
    if as_json and ending != "json":
        raise UsageError(f"--output {output}: --json is for a file that ends in .json; leave one of them out")
    return ending


def _score(qrels: str, runs: tuple[str, ...], options: dict[str, Any]) -> list[Scores]:
    from karat.engine import score_runs
    from karat.measures import read_classes

    classes = read_classes(options["classes"]) if options["classes"] else None
    chosen = {name: options[name] for name in ("conventions", "undefined", "missing", "format", "bounds", "engine")}
    named = dict(zip(_names(runs), runs, strict=True))
    with _progress(runs) as progress:
        return score_runs(qrels, named, options["measures"] or None, classes=classes, progress=progress, **chosen)


def _names(runs: tuple[str, ...]) -> list[str]:
    """Return names for runs: their file names, and as much of their paths as tells them apart."""
    from karat.measures import name_of

    names = [name_of(run) for run in runs]
    for depth in range(2, 1 + max(len(Path(run).parts) for run in runs)):
        if len(set(names)) == len(names):
            break
        names = [name_of(run) if run == "-" else str(Path(*Path(run).parts[-depth:])) for run in runs]
    return _distinct(names)


def _distinct(names: Iterable[str]) -> list[str]:
    """Return the names, with a number after each that was used before."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


@contextmanager
def _progress(runs: tuple[str, ...]) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar for large files, on a terminal."""
    # Not with pathlib, which raises on odd names.
    size = sum(os.path.getsize(run) for run in runs if os.path.isfile(run))  # noqa: PTH202, PTH113
    if size < 50_000_000 or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=size, label="reading", file=sys.stderr) as bar:
        yield bar.update


def _text(report: ScoreReport, unmatched: frozenset[str]) -> str:
    """Return the tables and notes of a report as a terminal shows them."""
    from karat.reports import list_score_notes, list_score_tables

    parts = []
    for table in list_score_tables(report):
        title = f"{bold(table.run)} {table.about}".strip() if table.run else ""
        parts.append("\n".join([*([title] if title else []), render(table.rows), *table.notes]))
    notes = list_score_notes(report, unmatched)
    return "\n\n".join(parts + (["\n".join(notes)] if notes else []))
