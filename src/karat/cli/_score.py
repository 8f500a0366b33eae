"""``karat score``: measures of one run or several."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._table import bold, printable, render

if TYPE_CHECKING:
    from karat.core import Scores

_FORMATS = ["trec", "json", "jsonl", "csv", "tsv", "parquet"]
_CONVENTIONS = ["karat", "trec", "fit", "beluga", "agent", "rig", "blocks"]


@click.command("score", short_help="Score runs against relevance judgments.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; repeat for more."
)
@click.option("--per-query", is_flag=True, help="Show every query's values too.")
@click.option("--by", metavar="FIELD", help="Show means by a field of the queries, such as category.")
@click.option(
    "--queries", metavar="FILE", help="Table of queries that has the field; else the judgments should have it."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, values at full precision.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead; .json means JSON.")
@click.option("--format", type=click.Choice(_FORMATS), help="Format of the files, when it should not be sniffed.")
@click.option(
    "--conventions",
    type=click.Choice(_CONVENTIONS),
    default="karat",
    show_default=True,
    help="Whose definitions to follow.",
)
@click.option(
    "--undefined",
    type=click.Choice(["exclude", "zero", "one"]),
    help="What a query without relevant documents counts as.",
)
@click.option(
    "--missing", type=click.Choice(["zero", "exclude"]), help="What a judged query that is not in the run counts as."
)
@click.option("--classes", metavar="FILE", help="Documents that can stand for each other: lines of document and class.")
@click.option(
    "--pass-at",
    type=click.IntRange(min=1),
    metavar="K",
    help="Take the runs as trials of one system: pass@K and pass^K.",
)
@click.option(
    "--threshold", type=float, default=1.0, show_default=True, help="With --pass-at: the score that is a success."
)
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Score each RUN against the judgments in QRELS.

    Files are TREC, JSON, JSONL, CSV, TSV or Parquet, gzipped or not; - is standard input. Several runs give one
    table, with the best value of each measure marked.

    Example: karat score qrels.txt bm25.txt dense.txt -m nDCG@10 -m R@100 --json
    """
    # Nothing here multiplies matrices or gains from more threads, and starting them costs more than a small run.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from karat.core import UsageError
    from karat.measures import document, pass_at_k, read_field

    if [qrels, *runs].count("-") > 1:
        raise UsageError("standard input (-) can be read only once")
    by = options["by"]
    groups = read_field(options["queries"] or qrels, by, options["format"]) if by else None
    scores = _score(qrels, runs, options)
    if options["pass_at"]:
        scores = [pass_at_k(scores, options["pass_at"], threshold=options["threshold"], name=f"{len(runs)} trials")]
    found = document(scores, per_query=options["per_query"], by=by, groups=groups)
    found = {"qrels": qrels, "conventions": options["conventions"], **found}
    output: str | None = options["output"]
    as_json = options["as_json"] or (output or "").endswith(".json")
    text = json.dumps(found, ensure_ascii=False, allow_nan=False) if as_json else _text(scores, found)
    if output:
        _write(Path(output), text + "\n")
    else:
        click.echo(text)


def _score(qrels: str, runs: tuple[str, ...], options: dict[str, Any]) -> list[Scores]:
    from karat.core import Measure
    from karat.measures import (
        Options,
        align_run,
        collapse_judgments,
        name_of,
        read_classes,
        read_judgments,
        score_alignment,
    )

    measures = [Measure.parse(text) for text in options["measures"]] or None
    classes = read_classes(options["classes"]) if options["classes"] else None
    judgments = read_judgments(qrels, format=options["format"])
    if classes is not None:
        judgments = collapse_judgments(judgments, classes)
    chosen = Options(conventions=options["conventions"], undefined=options["undefined"], missing=options["missing"])
    names = [name_of(run) for run in runs]
    if len(set(names)) < len(names):
        names = list(runs)
    scores = []
    for run, name in zip(runs, names, strict=True):
        with _progress(run) as progress:
            alignment = align_run(judgments, run, format=options["format"], classes=classes, progress=progress)
        scores.append(score_alignment(alignment, measures, name=name, options=chosen))
    return scores


@contextmanager
def _progress(run: str) -> Iterator[Callable[[int], None] | None]:
    """Show a bar for a file that takes more than a moment, on a terminal."""
    size = os.path.getsize(run) if os.path.isfile(run) else 0  # noqa: PTH202, PTH113 (pathlib raises on odd names)
    if size < 50_000_000 or not sys.stderr.isatty():
        yield None
        return
    with click.progressbar(length=size, label=printable(run), file=sys.stderr) as bar:
        yield bar.update


def _write(path: Path, text: str) -> None:
    from karat.core import InputError

    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None


def _text(scores: list[Scores], found: dict[str, Any]) -> str:
    runs = found["runs"]
    parts = [_summary(runs)]
    for run in runs:
        for field, groups in run.get("by", {}).items():
            measures = list(run["measures"])
            rows = [[field, *measures, "queries"]]
            for value, group in groups.items():
                cells = [_cell(group["measures"][m]) for m in measures]
                rows.append([printable(value) or "(none)", *cells, str(group["measures"][measures[0]]["total"])])
            parts.append(f"{bold(printable(run['name']))} by {field}\n{render(rows)}")
        if "queries" in run:
            measures = list(run["measures"])
            rows = [["query", *measures]]
            rows += [[printable(q), *(_number(values[m]) for m in measures)] for q, values in run["queries"].items()]
            parts.append(f"{bold(printable(run['name']))} by query\n{render(rows)}")
    notes = _notes(scores, found["conventions"])
    return "\n\n".join(parts + (["\n".join(notes)] if notes else []))


def _summary(runs: list[dict[str, Any]]) -> str:
    """One row per measure, one column per run; the best of several is marked with a star."""
    from karat.core import MEASURES

    rows = [["measure", *(printable(run["name"]) for run in runs), "queries"]]
    for measure in runs[0]["measures"]:
        cells = [run["measures"][measure] for run in runs]
        texts = [_cell(cell) for cell in cells]
        better = (
            MEASURES.get(measure.split("@")[0].split("(")[0]).higher_is_better
            if not measure.startswith("pass")
            else True
        )
        values = [cell["mean"] for cell in cells if cell["mean"] is not None]
        if len(runs) > 1 and better is not None and values:
            best = max(values) if better else min(values)
            texts = [
                f"{text}*" if cell["mean"] == best else f"{text} " for text, cell in zip(texts, cells, strict=True)
            ]
        scored = sorted({f"{cell['n']}/{cell['total']}" for cell in cells})
        rows.append([measure, *texts, " ".join(scored)])
    return render(rows)


def _cell(cell: dict[str, Any]) -> str:
    return f"{cell['sum']:g}" if "sum" in cell else _number(cell["mean"])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _notes(scores: list[Scores], conventions: str) -> list[str]:
    """Say what the numbers leave out."""
    notes = []
    for run in scores:
        name = printable(run.name)
        for reason in run.reasons:
            touched = {m: run.missing(m)[reason] for m in run.measures if reason in run.missing(m)}
            if touched:
                most = max(touched.values())
                notes.append(f"{name}: {_queries(most)} without a value ({reason}), left out of {', '.join(touched)}")
        excluded = any("not in the run" in run.missing(m) for m in run.measures)
        if run.not_in_run and not excluded:
            shown = ", ".join(printable(q) for q in run.not_in_run[:5]) + (", ..." if len(run.not_in_run) > 5 else "")
            notes.append(
                f"{name}: {_queries(len(run.not_in_run))} judged but not in the run, scored as an empty list: {shown}"
            )
        if run.not_judged:
            notes.append(f"{name}: {_queries(run.not_judged)} in the run without judgments, ignored")
    changed = {m: d for m, d in scores[0].definitions.items() if d != m}
    if changed:
        notes.append(f"conventions {conventions}: " + ", ".join(f"{m} is {d}" for m, d in changed.items()))
    return notes


def _queries(n: int) -> str:
    return f"{n} query" if n == 1 else f"{n} queries"
