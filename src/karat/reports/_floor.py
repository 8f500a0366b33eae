"""What words alone reach, beside the whole system."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from karat.reports._words import count, format_number
from karat.schema import DecisionDocument

FLOOR = ("Metric", "Words alone", "Whole system", "Ratio", "Advice")
NOTE_FLOOR = (
    "Words alone are the lexical channel of this run. From a ratio of 0.80 up PAUSE: words nearly do it. From 0.50 up "
    "RATIONALIZE: the rest has to be worth its cost. Below PROCEED."
)

_WHY = {
    "PAUSE": "since words nearly do it",
    "RATIONALIZE": "since the rest has to be worth its cost",
    "PROCEED": "since words do not do it",
}


def list_floor(document: DecisionDocument) -> Iterator[tuple[str, ...]]:
    """Yield a row for each measure that the lexical channel was scored on."""
    for row in document.lexical_floor.measures if document.lexical_floor is not UNSET else ():
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        yield row.measure, format_number(row.floor), format_number(row.full), ratio, row.advice or "-"


def note_floor(document: DecisionDocument) -> str:
    """Return how to read the rows, or why there are none; "" for a document that does not tell."""
    floor = document.lexical_floor
    if floor is UNSET or floor.note:
        return "" if floor is UNSET else floor.note
    missing = document.run.queries - floor.queries
    partial = f" Of {count(missing, 'query', 'queries')} the channel was not recorded." if missing > 0 else ""
    return f"{NOTE_FLOOR}{partial}"


def describe_floor(document: DecisionDocument) -> str:
    """Return what words alone reach in one line; "" for a document that does not tell."""
    floor = document.lexical_floor
    if floor is UNSET or floor.note:
        return "" if floor is UNSET else floor.note
    missing = document.run.queries - floor.queries
    partial = f" ({count(missing, 'query', 'queries')} not recorded)" if missing > 0 else ""
    rated = [(row.measure, f"{row.ratio:.0%}", row.advice) for row in floor.measures if row.ratio is not None]
    if not rated:
        return f"words alone cannot be compared with a system that reaches nothing{partial}"
    advices = {advice for _, _, advice in rated}
    if len(advices) > 1:
        shown = ", ".join(f"{share} of {name} ({advice})" for name, share, advice in rated)
        return f"words alone reach {shown}{partial}"
    shown = ", ".join(f"{share} of {name}" for name, share, _ in rated)
    (advice,) = advices
    return f"words alone reach {shown}{partial}" + (f": {advice}, {_WHY[advice]}" if advice else "")
