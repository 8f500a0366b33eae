"""Bounds over unjudged documents as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import UNSET

from karat.cli._table import number, render

if TYPE_CHECKING:
    from karat.schema import MeasureBounds, MeasureScore


def bounds_text(measures: Mapping[str, MeasureScore]) -> str:
    """Return a table of the worst and the best values of each measure, and what they leave out; "" without bounds."""
    bounds = {name: score.bounds for name, score in measures.items() if score.bounds is not UNSET}
    if not bounds:
        return ""
    rows = [["if unjudged documents were judged", "worst", "now", "best", "unjudged"]]
    for name, ends in bounds.items():
        score = measures[name]
        now = score.mean if score.sum is UNSET else score.sum
        cells = [number(ends.worst), number(now), number(ends.best)] if ends.why is UNSET else ["-", number(now), "-"]
        rows.append([name, *cells, f"{ends.unjudged:,}"])
    return "\n".join([render(rows), *_notes(bounds)])


def _notes(bounds: Mapping[str, MeasureBounds]) -> list[str]:
    loose = [name for name, ends in bounds.items() if not ends.exact and ends.why is UNSET and ends.unjudged]
    notes = [f"{', '.join(loose)}: the best is a bound, which no grades may reach"] if loose else []
    unknown = {name: ends.why for name, ends in bounds.items() if ends.why is not UNSET}
    return notes + [f"{name}: no bounds, {why}" for name, why in unknown.items()]
