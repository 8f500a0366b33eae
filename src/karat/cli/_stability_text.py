"""The stability of a run as a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from karat.cli._table import escaped, number, printable, render

if TYPE_CHECKING:
    from karat.schema.stability import QueryStability, StabilityReport, StabilitySpread

_SHOWN = 5
_NAMED = 10
_TINY = 5e-5  # a difference that four digits do not show


def stability_text(report: StabilityReport) -> str:
    """Return the measures as tables, how many questions converge, and those that differ most."""
    parts = [_table(report, kind) for kind in _list_kinds(report)]
    return "\n\n".join(
        filter(None, [*parts, "\n".join(_list_missing(report)), _states(report), "\n".join(_list_unsteady(report))])
    )


def _list_kinds(report: StabilityReport) -> list[str]:
    return [kind for kind in ("wordings", "repeats") if getattr(report, kind) > 1]


def _table(report: StabilityReport, kind: str) -> str:
    rows = [[f"over {getattr(report, kind)} {kind}", "worst", "mean", "spread", "most", "queries"]]
    for name, stability in report.measures.items():
        spread: StabilitySpread = getattr(stability, kind)
        numbers = (spread.worst, spread.mean, spread.spread, spread.most)
        rows.append([name, *map(number, numbers), f"{spread.queries}/{report.queries}"])
    return render(rows)


def _list_missing(report: StabilityReport) -> Iterator[str]:
    """Yield how many queries have no value, or one only, and why; measures of which the same is true share a line."""
    lines: dict[str, list[str]] = {}
    for name, stability in report.measures.items():
        missing = stability.missing or {}
        for reason, count in missing.items():
            lines.setdefault(f"{count:,} without a value ({escaped(reason)})", []).append(name)
        for kind in _list_kinds(report):
            spread: StabilitySpread = getattr(stability, kind)
            single = report.queries - spread.queries - sum(missing.values())
            if single > 0:
                lines.setdefault(f"{single:,} without values in two {kind}", []).append(name)
    for line, names in lines.items():
        yield f"{', '.join(names)}: {line}"


def _states(report: StabilityReport) -> str:
    if not report.states:
        return ""
    known = sum(report.states.values())
    counts = ", ".join(f"{count:,} {state}" for state, count in report.states.items())
    lines = [f"answers to {known:,} of {report.queries:,} queries: {counts}"]
    for state in report.states:
        if state != "convergent":
            names = [printable(row.query) for row in report.rows if row.state == state]
            more = f" and {len(names) - _NAMED:,} more (--json shows all)" if len(names) > _NAMED else ""
            lines.append(f"{state}: {', '.join(names[:_NAMED])}{more}")
    return "\n".join(lines)


def _list_unsteady(report: StabilityReport) -> Iterator[str]:
    """Yield the queries that differ most, each with every measure in which it differs.

    Measures have different scales, so a difference counts as a share of the largest one in the same measure.
    """
    spreads = {row.query: _measure_spreads(row) for row in report.rows}
    most = {name: max((own.get(name, 0.0) for own in spreads.values()), default=0.0) for name in report.measures}
    shares = {query: sum(value / most[name] for name, value in own.items()) for query, own in spreads.items() if own}
    ranked = sorted(shares, key=lambda query: -shares[query])
    for query in ranked[:_SHOWN]:
        own = spreads[query]
        differing = ", ".join(f"{name} differs by {own[name]:.4f}" for name in report.measures if name in own)
        yield f"{printable(query)}: {differing}"
    if len(ranked) > _SHOWN:
        yield f"and {len(ranked) - _SHOWN:,} more (--json shows all)"


def _measure_spreads(row: QueryStability) -> dict[str, float]:
    """Return the larger spread of each measure, over wordings or repeats, where there is one."""
    names = dict.fromkeys((*row.wordings, *row.repeats))
    spreads = {
        name: max(rows[name].spread for rows in (row.wordings, row.repeats) if name in rows) for name in names
    }  # fmt: skip
    return {name: spread for name, spread in spreads.items() if spread > _TINY}
