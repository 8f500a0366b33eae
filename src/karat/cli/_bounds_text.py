"""Bounds over unjudged documents as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from karat.cli._table import render

if TYPE_CHECKING:
    from karat.schema import MeasureScore


def bounds_text(measures: Mapping[str, MeasureScore]) -> str:
    """Return a table of the worst and the best values of each measure, and what they leave out; "" without bounds."""
    from karat.reports import list_bounds_notes, list_bounds_rows

    rows = list_bounds_rows(measures)
    return "\n".join([render(rows), *list_bounds_notes(measures)]) if rows else ""
