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

from karat.cli._bounds_text import bounds_text
from karat.cli._options import measures_option
from karat.cli._output import write_output
from karat.cli._process import tune
from karat.cli._table import bold, emit, number, printable, render

if TYPE_CHECKING:
    from karat.core import Scores
    from karat.schema import MeasureScore, RunScores, ScoreReport

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
    "-o", "--output", metavar="FILE", help="Write to FILE instead, completely or not at all; .json means JSON."
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

    _check_usage([qrels, *runs], options)
    by, fields, output = options["by"], options["queries"], options["output"]
    groups = read_field(fields or qrels, by, None if fields else options["format"]) if by else None
    scores = _score(qrels, runs, options)
    if options["pass_at"]:
        name = "1 trial" if len(runs) == 1 else f"{len(runs)} trials"
        scores = [pass_at_k(scores, options["pass_at"], threshold=options["threshold"], name=name)]
    report = score_report(
        scores, qrels=qrels, conventions=options["conventions"], per_query=options["per_query"], by=by, groups=groups
    )
    if options["as_json"] or (output or "").endswith(".json"):
        from karat.schema import to_json

        # In ASCII: no terminal's encoding can spoil it, and no character of an id can act on the terminal.
        text = to_json(report)
    else:
        text = _text(report, unmatched=[run.name for run in scores if run.judged_retrieved == 0])
    if output not in (None, "-", "/dev/stdout"):
        write_output(output, click.unstyle(text) + "\n")
    else:
        emit(text)


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


def _text(report: ScoreReport, *, unmatched: list[str]) -> str:
    """Return the tables and notes; ``unmatched`` names the runs in which no judged document was retrieved."""
    parts = [_summary(report.runs)]
    for run in report.runs:
        name, measures = bold(printable(run.name)), list(run.measures)
        if bounds := bounds_text(run.measures):
            parts.append(bounds if len(report.runs) == 1 else f"{name}\n{bounds}")
        for field, segments in (run.by or {}).items():
            rows = [[printable(field), *measures, "queries"]]
            for value, segment in segments.items():
                cells = [segment.measures[measure] for measure in measures]
                rows.append([printable(value) or "(none)", *map(_cell, cells), _scored(cells)])
            parts.append(f"{name} by {printable(field)}\n{render(rows)}")
        if run.queries:
            rows = [["query", *measures]]
            rows += [[printable(q), *(number(values[m]) for m in measures)] for q, values in run.queries.items()]
            parts.append(f"{name} by query\n{render(rows)}")
    notes = _notes(report, unmatched)
    return "\n\n".join(parts + (["\n".join(notes)] if notes else []))


def _summary(runs: list[RunScores]) -> str:
    """Return one row per measure and one column per run; a star marks the best of several."""
    rows = [["measure", *_distinct(printable(run.name) for run in runs), "queries"]]
    for measure in runs[0].measures:
        cells = [run.measures[measure] for run in runs]
        texts = [_cell(cell) for cell in cells]
        if len(runs) > 1:
            # Means over different numbers of queries cannot be compared.
            comparable = len({cell.n for cell in cells}) == 1
            best = _best(measure, [cell.mean for cell in cells if cell.mean is not None and comparable])
            marks = ["*" if best is not None and cell.mean == best else " " for cell in cells]
            texts = [text + mark for text, mark in zip(texts, marks, strict=True)]
        rows.append([measure, *texts, _scored(cells)])
    return render(rows)


def _scored(cells: list[MeasureScore]) -> str:
    """Return how many queries the means are over; once, if it is the same for all."""
    counts = [f"{cell.n}/{cell.total}" for cell in cells]
    return " ".join(counts if len(set(counts)) > 1 else counts[:1])


def _best(measure: str, values: list[float]) -> float | None:
    """Return the best of some means, or None for counts, and where there is no mean."""
    from karat.core import Measure

    better = measure.startswith("pass") or Measure.parse(measure).definition.higher_is_better
    if better is None or not values:
        return None
    return max(values) if better else min(values)


def _cell(cell: MeasureScore) -> str:
    if isinstance(cell.sum, float):
        return f"{cell.sum:.0f}" if cell.sum == round(cell.sum) else number(cell.sum)
    return number(cell.mean)


def _notes(report: ScoreReport, unmatched: list[str]) -> list[str]:
    """Return what the numbers leave out."""
    notes = [note for run in report.runs for note in _run_notes(run, unmatched)]
    changed = {m: cell.definition for m, cell in report.runs[0].measures.items() if cell.definition}
    if changed:
        notes.append(f"conventions {report.conventions}: " + ", ".join(f"{m} is {d}" for m, d in changed.items()))
    return notes


def _run_notes(run: RunScores, unmatched: list[str]) -> Iterator[str]:
    name = printable(run.name)
    reasons = dict.fromkeys(reason for cell in run.measures.values() for reason in cell.missing)
    for reason in reasons:
        counts = {m: cell.missing[reason] for m, cell in run.measures.items() if reason in cell.missing}
        for count in sorted(set(counts.values())):
            measures = ", ".join(measure for measure, n in counts.items() if n == count)
            yield f"{name}: {_queries(count)} without a value ({reason}), left out of {measures}"
    if run.not_in_run and "not in the run" not in reasons:
        shown = ", ".join(printable(q) for q in run.not_in_run[:5]) + (", ..." if len(run.not_in_run) > 5 else "")
        yield f"{name}: {_queries(len(run.not_in_run))} judged but not in the run, scored as an empty list: {shown}"
    if run.name in unmatched:
        yield f"{name}: no judged document was retrieved; do both files name documents alike?"
    if run.repeated:
        hits = "1 hit" if run.repeated.hits == 1 else f"{run.repeated.hits} hits"
        where = _queries(run.repeated.queries)
        yield f"{name}: {hits} of documents that rank higher already, left out, in {where}"
    if run.not_judged:
        yield f"{name}: {_queries(run.not_judged)} in the run without judgments, ignored"


def _queries(n: int) -> str:
    return f"{n} query" if n == 1 else f"{n} queries"
