"""The meaning of grades in files that only number them."""

from __future__ import annotations

from typing import TypedDict

from karat.core import GRADES, InputError

BINARY = ("not relevant", "relevant")
HIGHEST = 255
"""The best grade that a file can have if it does not declare its scale."""


class Scale(TypedDict):
    """The two fields of a golden set that say what its grades mean."""

    grades: tuple[str, ...]
    relevant: int


def scale_up_to(top: int, source: str) -> Scale:
    """Return the scale of a file whose best grade is ``top``. Relevant begins at 2 on a scale up to 3, else at 1.

    >>> scale_up_to(1, "qrels.tsv")
    {'grades': ('not relevant', 'relevant'), 'relevant': 1}
    >>> scale_up_to(2, "qrels.tsv")
    {'grades': ('grade 0', 'grade 1', 'grade 2'), 'relevant': 1}
    """
    if top > HIGHEST:
        raise InputError(f"grade {top} is above {HIGHEST}", source=source, hint="use a scale of few grades")
    if top <= 1:
        return {"grades": BINARY, "relevant": 1}
    if top == len(GRADES) - 1:
        return {"grades": GRADES, "relevant": 2}
    return {"grades": tuple(f"grade {n}" for n in range(top + 1)), "relevant": 1}
