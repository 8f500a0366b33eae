"""``karat trend``: quality over time, from the runs that were kept."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from karat.cli._progress import Progress
from karat.cli._table import bold, emit, escaped, printable, render

if TYPE_CHECKING:
    from karat.experiments import Trend
    from karat.reports import Chart, Sparkline

_BARS = 60  # more runs than these have no room beside their numbers
_CHANGES = 3


@click.command("trend", short_help="Show how quality changed from run to run.")
@click.argument("paths", metavar="[DIR|RUN...]", nargs=-1)
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="A measure such as nDCG@10; repeat."
)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the newest N runs.  [default: all]")
@click.option("--golden", metavar="DIR", help="The project of the runs.  [default: the folder that they lie in]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--svg", metavar="FILE", help="Draw a line for each metric into a file; its name ends with .svg.")
def command(
    paths: tuple[str, ...],
    measures: tuple[str, ...],
    last: int | None,
    golden: str | None,
    as_json: bool,
    svg: str | None,
) -> None:
    """Score the runs that are kept in DIR/runs, or those that are named, and show them from the first to the newest.

    Runs on another golden set are listed apart, and files that cannot be read are told.

    Example: karat trend examples/hotel -m nDCG@5 --svg trend.svg
    """
    from karat.cli._report import write_report
    from karat.core import InputError, UsageError
    from karat.experiments import read_trend
    from karat.reports import render_sparklines

    if svg is not None and not svg.lower().endswith(".svg"):  # --svg runs/* would write over a run
        raise UsageError(f"--svg {svg}: name a file that ends with .svg")
    with Progress() as progress:
        found = read_trend(
            paths or (golden or ".",),
            measures,
            golden=golden,
            last=last,
            progress=lambda *far: progress("scoring", *far),
        )
    document = found.to_dict()
    if svg is not None:
        _spare(svg, paths, found)
        write_report(svg, render_sparklines(f"{_name(document['golden'])}: quality over time", _charts(document)))
    emit(json.dumps(document, allow_nan=False) if as_json else _text(document))
    if not found.histories and not found.apart:
        raise InputError("no run could be read", source=paths[0] if paths else golden or ".")


def _spare(svg: str, paths: Iterable[str], found: Trend) -> None:
    """Refuse to write over what the trend is made from: a run may be called anything, and so may a document."""
    from karat.core import UsageError

    target, config = Path(svg).resolve(), found.project.config
    folders = {one.resolve() for one in (config.golden, config.documents) if one} - {config.folder.resolve()}
    runs = {Path(path).resolve() for path in paths}
    # A link may lead to a run.
    if target in runs or target.suffix.lower() != ".svg" or any(target.is_relative_to(one) for one in folders):
        raise UsageError(f"--svg {svg} is a part of what the trend is made from; choose another name")


def _charts(document: dict[str, Any]) -> list[Chart]:
    """Give each history as it is drawn."""
    from karat.reports import Chart

    return [
        Chart(
            title=f"{_asked(one)}{_span(one['runs'])}",
            labels=[
                f"{day.rstrip('*')} {run['run']}" for day, run in zip(_days(one["runs"]), one["runs"], strict=True)
            ],
            lines=_lines(one["runs"], document["measures"]),
        )
        for one in document["histories"]
    ]


def _lines(runs: Sequence[dict[str, Any]], measures: Sequence[str]) -> list[Sparkline]:
    from karat.reports import Sparkline

    found = [Sparkline(name=name, values=[run["measures"][name] for run in runs]) for name in measures]
    return [*found, Sparkline(name="p95 ms", values=[run["p95"] for run in runs], digits=2, tiny=True)]


def _span(runs: Sequence[dict[str, Any]]) -> str:
    first, newest = runs[0]["date"], runs[-1]["date"]
    if len(runs) == 1:
        return f"1 run, {first}"
    return f"{len(runs):,} runs, {first}" + (f" to {newest}" if newest != first else "")


def _text(document: dict[str, Any]) -> str:
    parts = [_history(one, document["measures"]) for one in document["histories"]]
    if not parts:
        parts = [f"no run on {escaped(_golden(document['golden']))}"]
    parts += [_apart(document["apart"]), _skipped(document["skipped"]), _footnote(document)]
    return "\n\n".join(part for part in parts if part)


def _history(history: dict[str, Any], measures: Sequence[str]) -> str:
    """Show the runs of a history, a row each, and below them each metric as a row of bars."""
    runs, lines = history["runs"], _lines(history["runs"], measures)
    rows = [["date", "run", "queries", *(line.name for line in lines), "changed since the run before"]]
    for i, (day, run) in enumerate(zip(_days(runs), runs, strict=True)):
        numbers = ["-" if (value := line.values[i]) is None else line.format(value) for line in lines]
        rows.append([day, printable(run["run"]), _queries(run), *numbers, _changed(run["changes"])])
    rows = _left_aligned(rows)
    head = f"{bold(_asked(history).removesuffix('; '))}\n" if history["asked"] else ""
    return f"{head}{render(rows, left=2)}" + (f"\n\n{_trends(runs, measures)}" if len(runs) > 1 else "")


def _left_aligned(rows: list[list[str]]) -> list[list[str]]:
    """Pad the last column, in which words stand: those of a table are aligned to the right but for the first ones."""
    width = max(len(row[-1]) for row in rows)
    return [[*row[:-1], row[-1].ljust(width)] for row in rows]


def _trends(runs: Sequence[dict[str, Any]], measures: Sequence[str]) -> str:
    from karat.reports import bars

    head = "trend" if len(runs) <= _BARS else f"trend (the newest {_BARS})"
    rows = [["metric", head, "first", "newest", "change", "lowest", "highest"]]
    for line in _lines(runs, measures):
        change = "-" if line.change is None else line.format(line.change, signed=True)
        ends = [line.drawn[0], line.drawn[-1], min(line.present, default=None), max(line.present, default=None)]
        first, newest, low, high = ("-" if value is None else line.format(value) for value in ends)
        rows.append([line.name, bars(line.drawn[-_BARS:]), first, newest, change, low, high])
    return render(rows, left=2)


def _apart(runs: Sequence[dict[str, Any]]) -> str:
    rows = [["date", "run", "golden set", "queries"]]
    rows += [
        [day, printable(run["run"]), printable(_golden(run["golden"])), f"{run['queries']:,}"]
        for day, run in zip(_days(runs), runs, strict=True)
    ]
    title = bold("on another golden set, and not scored: scores on different sets are not one history")
    return f"{title}\n{render(rows, left=3)}" if runs else ""


def _skipped(files: Sequence[dict[str, Any]]) -> str:
    return "\n".join([bold("not used"), *(f"  {escaped(one['reason'])}" for one in files)]) if files else ""


def _footnote(document: dict[str, Any]) -> str:
    tables = [*(one["runs"] for one in document["histories"]), document["apart"]]
    guessed = any(day.endswith("*") for runs in tables for day in _days(runs))
    return "* when the file was last changed: it does not say when the run was made" if guessed else ""


def _golden(golden: dict[str, Any]) -> str:
    """Name a golden set, with the beginning of its fingerprint: two versions may have the same name."""
    return f"{_name(golden)} {str(golden.get('fingerprint') or 'unknown')[:15]}".lstrip()


def _name(golden: dict[str, Any]) -> str:
    return " ".join(str(part) for part in (golden.get("name"), golden.get("version")) if part)


def _asked(history: dict[str, Any]) -> str:
    said = ", ".join(
        f"{printable(key)} {'none' if value is None else _value(value)}" for key, value in history["asked"].items()
    )
    return f"asked with {said}; " if said else ""


def _days(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Give the day of each run, with the time (UTC) where several are of one day; a star says that it is the file's."""
    shared = Counter(run["date"] for run in runs)
    found = []
    for run in runs:
        timed = shared[run["date"]] > 1 and (run["time"] or "").startswith(run["date"])
        guessed = "modified" in (run["date_from"], run["time_from"] if timed else "")
        found.append(f"{run['date']}{' ' + run['time'][11:19] if timed else ''}{'*' if guessed else ''}")
    return found


def _queries(run: dict[str, Any]) -> str:
    return f"{run['queries']:,}" + (f" ({run['failed']:,} failed)" if run["failed"] else "")


def _changed(changes: Sequence[dict[str, Any]] | None) -> str:
    if changes is None:
        return "-"
    shown = [f"{_value(one['key'])} {_value(one['was'])} -> {_value(one['now'])}" for one in changes[:_CHANGES]]
    more = [f"{len(changes) - _CHANGES:,} more"] if len(changes) > _CHANGES else []
    return ", ".join([*shown, *more]) or "nothing"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else "-" if value is None else json.dumps(value, ensure_ascii=False)
    return printable(text, 30)
