"""The documents of ``karat runs`` as a terminal shows them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from karat.cli._table import bold, escaped, number, printable, render
from karat.core import count_things

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from karat.schema import RunDetails, RunListing, RunPruning, SavedRun

_SHOWN = 5


def listing_text(listing: RunListing) -> str:
    """Return the runs as a table, with notes on those that could not be scored."""
    rows = [["run", "date", "branch", *listing.measures, "queries", "failed"]]
    titles = Counter(run.title for run in listing.runs)
    for run in listing.runs:
        means = [number(run.measures.get(name)) if run.measures else "-" for name in listing.measures]
        rows.append(
            [
                _name(run, titles[run.title] > 1),
                run.date,
                printable(run.branch or "-", 24),
                *means,
                f"{run.queries:,}",
                f"{run.failed:,}",
            ]
        )
    notes = [f"{printable(Path(run.file).name, 80)}: {escaped(run.note)}" for run in listing.runs if run.note]
    if any(run.is_baseline for run in listing.runs):
        notes.append("* the run of the baseline")
    if listing.more:
        notes.append(
            f"{count_things(listing.more, 'older run is', 'older runs are')} not "
            f"listed; --last {len(listing.runs) + listing.more} lists all"
        )
    return "\n\n".join([render(rows, left=3), *(["\n".join(notes)] if notes else [])])


def _name(run: SavedRun, is_shared: bool) -> str:
    """Return the title of a run, with its file if others have the same title, its state, and the baseline's mark."""
    file = f" {printable(Path(run.file).name, 80)}" if is_shared else ""
    state = "" if run.state == "complete" else f" ({run.state})"
    return f"{printable(run.title, 48)}{file}{state}{' *' if run.is_baseline else ''}"


def details_text(details: RunDetails) -> str:
    """Return where a run comes from, its means and latency, and the queries that failed."""
    run = details.run
    facts = "\n".join(f"{name:<9} {value}" for name, value in _facts(details) if value)
    parts = [bold(printable(run.title, 80)), facts]
    if run.measures:
        parts.append(render([["measure", "mean"], *([name, number(mean)] for name, mean in run.measures.items())]))
    if "total" in details.latency:
        times = details.latency["total"]
        shown = ", ".join(
            f"{name} {times[name]:.1f} ms" for name in ("p50", "p95", "p99") if times.get(name) is not None
        )
        parts.append(f"latency: {shown}")
    if details.failures:
        lines = [f"  {printable(query)}: {escaped(error)[:200]}" for query, error in details.failures.items()]
        more = ["  ..."] if len(lines) > _SHOWN else []
        parts.append("\n".join([f"{len(lines):,} of {run.queries:,} queries failed:", *lines[:_SHOWN], *more]))
    return "\n\n".join(parts)


def _facts(details: RunDetails) -> Iterator[tuple[str, str]]:
    run, origin = details.run, details.origin
    yield "file", escaped(run.file)
    yield "state", run.state if run.state != "complete" else ""
    yield "note", escaped(run.note)
    yield "begun", run.begun or run.date
    yield "system", printable(details.name, 80)
    dirty = " with changes that were not committed" if run.dirty else ""
    yield "commit", f"{printable(run.commit, 80)}{dirty}" if run.commit else ""
    yield "branch", printable(run.branch, 80) if run.branch else ""
    yield "machine", _join(origin.get("machine", {}), {"cores": "{} cores", "platform": "{}", "python": "{}"})
    yield "CI", _join(origin.get("ci", {}), {"provider": "{}", "job": "job {}", "run": "run {}", "url": "{}"})
    yield "golden", printable(f"{details.golden.get('name', '')} {details.golden.get('version', '')}".strip(), 80)
    yield "settings", escaped(", ".join(f"{name}={json.dumps(value)}" for name, value in details.settings.items()))
    yield "baseline", "this run is the baseline" if run.is_baseline else ""


def _join(facts: Mapping[str, Any], forms: Mapping[str, str]) -> str:
    return ", ".join(form.format(escaped(str(facts[name]))) for name, form in forms.items() if facts.get(name))


def pruning_text(pruning: RunPruning) -> str:
    """Return which runs were removed, and why others were kept."""
    verb = "would remove" if pruning.dry_run else "removed"
    if not pruning.removed:
        kept = "1 file is" if len(pruning.kept) == 1 else f"{len(pruning.kept):,} files are"
        return f"nothing to remove; {kept} kept"
    lines = [f"{verb} {escaped(run.file)} ({run.reason})" for run in pruning.removed]
    reasons: dict[str, int] = {}
    for run in pruning.kept:
        reasons[run.reason] = reasons.get(run.reason, 0) + 1
    kept = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items()) or "none"
    return "\n".join([*lines, f"kept: {kept}"])
