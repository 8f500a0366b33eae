"""How far unjudged documents could move the means that rules look at."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from karat.reports._words import format_number
from karat.schema import DecisionDocument

BOUNDS = ("Metric", "Worst", "Current", "Best", "Unjudged in the top k")
NOTE_BOUNDS = (
    "Worst and best are the means over all grades that the unjudged documents of this run could have. A best after "
    "'up to' is a bound that no grades may reach."
)


def list_bounds(document: DecisionDocument) -> Iterator[tuple[str, ...]]:
    """Yield a row for each measure that a rule looks at, and that unjudged documents could move."""
    for measure in document.measures:
        bounds = measure.bounds
        if bounds is not UNSET:
            best = format_number(bounds.best) if bounds.exact else f"up to {format_number(bounds.best)}"
            yield (
                measure.name,
                format_number(bounds.worst),
                format_number(measure.mean),
                best,
                f"{bounds.unjudged:,}",
            )
