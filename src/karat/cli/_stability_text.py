"""The stability of a run as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from karat.cli._table import escaped, number, printable, render

if TYPE_CHECKING:
    from karat.schema.stability import QueryStability, StabilityReport, StabilitySpread

_SHOWN = 5


def stability_text(report: StabilityReport) -> str:
    """Return the measures as tables, how many questions converge, and those that differ most."""
    parts = [_table(report, kind) for kind in ("wordings", "repeats") if getattr(report, kind) > 1]
    return "\n\n".join(
        filter(None, [*parts, "\n".join(_list_missing(report)), _states(report), "\n".join(_list_unsteady(report))])
    )


def _table(report: StabilityReport, kind: str) -> str:
    rows = [[f"over {getattr(report, kind)} {kind}", "worst", "mean", "spread", "most", "queries"]]
    for name, stability in report.measures.items():
        spread: StabilitySpread = getattr(stability, kind)
        numbers = (spread.worst, spread.mean, spread.spread, spread.most)
        rows.append([name, *map(number, numbers), f"{spread.queries}/{report.queries}"])
    return render(rows)


def _list_missing(report: StabilityReport) -> Iterator[str]:
    """Yield why queries have no value of a measure."""
    for name, stability in report.measures.items():
        for reason, count in (stability.missing or {}).items():
            yield f"{name}: {count:,} without a value ({escaped(reason)})"


def _states(report: StabilityReport) -> str:
    if not report.states:
        return ""
    known = sum(report.states.values())
    counts = ", ".join(f"{count:,} {state}" for state, count in report.states.items())
    return f"answers to {known:,} of {report.queries:,} queries: {counts}"


def _list_unsteady(report: StabilityReport) -> Iterator[str]:
    """Yield the queries that differ most in the first measure."""
    first = next(iter(report.measures), "")
    ranked = sorted(report.rows, key=lambda row: -_measure_spread(row, first))
    for row in ranked[:_SHOWN]:
        if spread := _measure_spread(row, first):
            yield f"{printable(row.query)}: {first} differs by {spread:.4f}"


def _measure_spread(row: QueryStability, measure: str) -> float:
    return max((rows[measure].spread for rows in (row.wordings, row.repeats) if measure in rows), default=0.0)
