"""What was assumed about a golden set that does not say which of its grades are relevant."""

from __future__ import annotations

from karat.core import GoldenSet

UNDECLARED = "without saying what they mean"
_MATTERS = "nothing relevant"


def list_assumptions(golden: GoldenSet) -> tuple[str, ...]:
    """Return the notes on an assumed start of relevance, if another one would change which queries are answerable.

    >>> list_assumptions(GoldenSet(notes=("desk.csv: unknown key 'colour', ignored",)))
    ()
    """
    return tuple(note for note in golden.notes if UNDECLARED in note and _MATTERS in note)
