"""The meaning of grades in files that only number them."""

from __future__ import annotations

from typing import TypedDict

from karat.core import GRADES, InputError

BINARY = ("not relevant", "relevant")
_HIGHEST = 255


class Scale(TypedDict):
    """The two fields of a golden set that say what its grades mean."""

    grades: tuple[str, ...]
    relevant: int


def scale(top: int, source: str) -> Scale:
    """Give the scale of a file whose best grade is ``top``: relevant is 2 on a scale up to 3, and 1 on any other.

    >>> scale(1, "qrels.tsv")
    {'grades': ('not relevant', 'relevant'), 'relevant': 1}
    >>> scale(2, "qrels.tsv")
    {'grades': ('grade 0', 'grade 1', 'grade 2'), 'relevant': 1}
    """
    if top > _HIGHEST:
        raise InputError(f"grade {top} is above {_HIGHEST}", source=source, hint="use a scale of few grades")
    if top <= 1:
        return {"grades": BINARY, "relevant": 1}
    if top == len(GRADES) - 1:
        return {"grades": GRADES, "relevant": 2}
    return {"grades": tuple(f"grade {n}" for n in range(top + 1)), "relevant": 1}
