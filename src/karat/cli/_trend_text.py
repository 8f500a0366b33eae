"""Trends as a terminal shows them, and as a drawing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from karat.cli._table import bold, escaped, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from karat.reports import Chart, Sparkline
    from karat.schema import SystemChange, TrendHistory, TrendOtherRun, TrendReport, TrendRun, TrendSkippedFile

_BARS = 60  # more runs than these have no room beside their numbers
_CHANGES = 3


def trend_svg(report: TrendReport) -> str:
    """Draw a line for each metric of each history."""
    from karat.reports import render_sparklines

    return render_sparklines(
        f"{_name(report.golden)}: quality over time", [_chart(history, report.measures) for history in report.histories]
    )


def trend_text(report: TrendReport) -> str:
    """Render each history as a table and rows of bars, then the runs and files that are in none."""
    parts = [_history(history, report.measures) for history in report.histories]
    if not parts:
        parts = [f"no run on {escaped(_golden(report.golden))}"]
    parts += [_apart(report.apart), _skipped(report.skipped), _footnote(report)]
    return "\n\n".join(part for part in parts if part)


def _chart(history: TrendHistory, measures: Sequence[str]) -> Chart:
    from karat.reports import Chart

    days = zip(_days(history.runs), history.runs, strict=True)
    return Chart(
        title=f"{_asked(history)}{_span(history.runs)}",
        labels=[f"{day.rstrip('*')} {run.title}" for day, run in days],
        lines=_lines(history.runs, measures),
        marks={place: words for place, run in enumerate(history.runs) if (words := _set_change(run))},
    )


def _lines(runs: Sequence[TrendRun], measures: Sequence[str]) -> list[Sparkline]:
    from karat.reports import Sparkline

    lines = [Sparkline(name=name, values=[run.measures[name] for run in runs]) for name in measures]
    return [*lines, Sparkline(name="p95 ms", values=[run.p95 for run in runs], digits=2, tiny=True)]


def _span(runs: Sequence[TrendRun]) -> str:
    first, newest = runs[0].date, runs[-1].date
    if len(runs) == 1:
        return f"1 run, {first}"
    return f"{count_things(len(runs), 'run')}, {first}" + (f" to {newest}" if newest != first else "")


def _history(history: TrendHistory, measures: Sequence[str]) -> str:
    """Show the runs of a history, a row each, and below them each metric as a row of bars."""
    runs, lines = history.runs, _lines(history.runs, measures)
    rows = [["date", "run", "queries", *(line.name for line in lines), "changed since the run before"]]
    for place, (day, run) in enumerate(zip(_days(runs), runs, strict=True)):
        numbers = ["-" if (value := line.values[place]) is None else line.format(value) for line in lines]
        rows.append([day, printable(run.title, 48), _queries(run), *numbers, _changed(run)])
    head = f"{bold(_asked(history).removesuffix('; '))}\n" if history.asked else ""
    return f"{head}{render(_pad_last(rows), left=2)}" + (f"\n\n{_trends(lines)}" if len(runs) > 1 else "")


def _pad_last(rows: list[list[str]]) -> list[list[str]]:
    """Pad the last column, which holds words and should be aligned to the left."""
    width = max(len(row[-1]) for row in rows)
    return [[*row[:-1], row[-1].ljust(width)] for row in rows]


def _trends(lines: Sequence[Sparkline]) -> str:
    from karat.reports import bars

    head = "trend" if len(lines[0].values) <= _BARS else f"trend (the newest {_BARS})"
    rows = [["metric", head, "first", "newest", "change", "lowest", "highest"]]
    for line in lines:
        change = "-" if line.change is None else line.format(line.change, signed=True)
        drawn = line.drawn
        ends = [drawn[0], drawn[-1], min(line.present, default=None), max(line.present, default=None)]
        first, newest, low, high = ("-" if value is None else line.format(value) for value in ends)
        rows.append([line.name, bars(drawn[-_BARS:]), first, newest, change, low, high])
    return render(rows, left=2)


def _apart(runs: Sequence[TrendOtherRun]) -> str:
    if not runs:
        return ""
    rows = [["date", "run", "golden set", "queries"]]
    rows += [
        [day, printable(run.title, 48), printable(_golden(run.golden)), f"{run.queries:,}"]
        for day, run in zip(_days(runs), runs, strict=True)
    ]
    title = bold("on another golden set, without a question of this one, and not scored")
    return f"{title}\n{render(rows, left=3)}"


def _skipped(files: Sequence[TrendSkippedFile]) -> str:
    return "\n".join([bold("not used"), *(f"  {escaped(file.reason)}" for file in files)]) if files else ""


def _footnote(report: TrendReport) -> str:
    tables: list[Sequence[TrendRun | TrendOtherRun]] = [*(history.runs for history in report.histories), report.apart]
    guessed = any(day.endswith("*") for runs in tables for day in _days(runs))
    notes = ["* when the file was last changed: it does not say when the run was made"] if guessed else []
    if any(run.golden_change for history in report.histories for run in history.runs):
        notes.append(
            "the golden set changed between runs: each is scored with the judgments of today, on the questions that it "
            "was asked"
        )
    if report.variants:
        count = count_things(report.variants, "run")
        notes.append(f"left out: {count} that a sweep tried; name files to see them: karat trend DIR/runs/*.jsonl")
    return "\n".join(notes)


def _golden(golden: Mapping[str, Any]) -> str:
    """Name a golden set, with the beginning of its fingerprint: two versions may have the same name."""
    return f"{_name(golden)} {str(golden.get('fingerprint') or 'unknown')[:15]}".lstrip()


def _name(golden: Mapping[str, Any]) -> str:
    return " ".join(str(part) for part in (golden.get("name"), golden.get("version")) if part)


def _asked(history: TrendHistory) -> str:
    settings = ", ".join(
        f"{printable(key)} {'none' if value is None else _value(value)}" for key, value in history.asked.items()
    )
    return f"asked with {settings}; " if settings else ""


def _days(runs: Sequence[TrendRun | TrendOtherRun]) -> list[str]:
    """Return the day of each run, with the time (UTC) if several share it; a star marks a time of the file."""
    shared = Counter(run.date for run in runs)
    days = []
    for run in runs:
        timed = run.time is not None and shared[run.date] > 1 and run.time.startswith(run.date)
        time = f" {run.time[11:19]}" if timed and run.time else ""
        guessed = "modified" in (run.date_from, run.time_from if timed else "")
        days.append(f"{run.date}{time}{'*' if guessed else ''}")
    return days


def _queries(run: TrendRun) -> str:
    return f"{run.queries:,}" + (f" ({run.failed:,} failed)" if run.failed else "")


def _set_change(run: TrendRun) -> str:
    """Return how the golden set changed since the run before, or nothing."""
    change = run.golden_change
    if change is None:
        return ""
    counts = [f"{sign}{count:,}" for sign, count in (("+", change.added), ("-", change.removed)) if count]
    is_single = change.added + change.removed == 1
    parts = [f"{' '.join(counts)} question{'' if is_single else 's'}"] if counts else []
    parts += [name for name in ("judgments", "documents") if getattr(change, name)]
    return f"golden set: {', '.join(parts) or 'other version'}"


def _changed(run: TrendRun) -> str:
    changes, of_set = run.changes, _set_change(run)
    if changes is None:
        return "-"
    if of_set:
        system = _system_changes(changes)
        return of_set if system == "nothing" else f"{of_set}; {system}"
    return _system_changes(changes)


def _system_changes(changes: Sequence[SystemChange]) -> str:
    shown = [f"{_value(change.key)} {_value(change.was)} -> {_value(change.now)}" for change in changes[:_CHANGES]]
    more = [f"{len(changes) - _CHANGES:,} more"] if len(changes) > _CHANGES else []
    return ", ".join([*shown, *more]) or "nothing"


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else "-" if value is None else json.dumps(value, ensure_ascii=False)
    return printable(text, 30)
