"""What words alone reach, beside the whole system."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from karat.reports._words import count, format_number
from karat.schema import DecisionDocument

FLOOR = ("Metric", "Keywords alone", "Whole system", "Ratio", "The rest")
NOTE_FLOOR = (
    "Keywords alone are the lexical channel of this run. From a ratio of 0.80 up the rest of the system adds little; "
    "from 0.50 up check that it is worth its cost; below, it is needed."
)

_REST = {"PAUSE": "adds little", "RATIONALIZE": "may not be worth its cost", "PROCEED": "is needed"}
"""What the advice on a ratio means for the rest of the system."""
_WHY = {
    "PAUSE": "the rest of the system adds little",
    "RATIONALIZE": "check that the rest of the system is worth its cost",
    "PROCEED": "the rest of the system is needed",
}
_UNRECORDED = "no lexical channel recorded"
"""What the document says of a run without a list of keywords alone: most runs of a system of one's own."""
_NOTES = {
    _UNRECORDED: "The run has no list of a keyword search alone, with which the whole system could be compared.",
    "the lexical channel is the only one": "The system searches by keywords only.",
}


def describe_rest(advice: str) -> str:
    """Return in plain words what an advice says about all that is not words.

    >>> describe_rest("PAUSE")
    'adds little'
    """
    return _REST.get(advice, "-")


def list_floor(document: DecisionDocument) -> Iterator[tuple[str, ...]]:
    """Yield a row for each measure that the lexical channel was scored on."""
    for row in document.lexical_floor.measures if document.lexical_floor is not UNSET else ():
        ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
        yield row.measure, format_number(row.floor), format_number(row.full), ratio, describe_rest(row.advice)


def note_floor(document: DecisionDocument) -> str:
    """Return how to read the rows, or why there are none; "" for a document that does not tell."""
    floor = document.lexical_floor
    if floor is UNSET or floor.note:
        return "" if floor is UNSET else _NOTES.get(floor.note, floor.note)
    missing = document.run.queries - floor.queries
    partial = f" Of {count(missing, 'query', 'queries')} the channel was not recorded." if missing > 0 else ""
    return f"{NOTE_FLOOR}{partial}"


def describe_floor(document: DecisionDocument) -> str:
    """Return what keywords alone reach in one line; "" for a document that does not tell, or a run without them."""
    floor = document.lexical_floor
    if floor is UNSET or floor.note:
        return "" if floor is UNSET or floor.note == _UNRECORDED else _NOTES.get(floor.note, floor.note)
    missing = document.run.queries - floor.queries
    partial = f" ({count(missing, 'query', 'queries')} not recorded)" if missing > 0 else ""
    rated = [(row.measure, f"{row.ratio:.0%}", row.advice) for row in floor.measures if row.ratio is not None]
    if not rated:
        return f"cannot be compared with a system that reaches nothing{partial}"
    advices = {advice for _, _, advice in rated}
    if len(advices) > 1:
        shown = ", ".join(f"{share} of {name} (the rest {describe_rest(advice)})" for name, share, advice in rated)
        return f"reach {shown}{partial}"
    shown = ", ".join(f"{share} of {name}" for name, share, _ in rated)
    (advice,) = advices
    return f"reach {shown}{partial}" + (f": {_WHY[advice]}" if advice else "")
