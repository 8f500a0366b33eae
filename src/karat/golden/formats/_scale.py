"""The meaning of grades in files that only number them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from karat.core import GRADES, HIGHEST_GRADE, GoldenSet, InputError
from karat.files import Reading
from karat.golden._assumed import UNDECLARED

BINARY = ("not relevant", "relevant")
HIGHEST = HIGHEST_GRADE
"""The best grade that a file can have if it does not declare its scale."""
_OWN = "[golden] of karat.toml"
_HALF = 0.5
"""The share of the judged queries from which on the usual start of relevance is no good guess."""


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


def guess_scale(best: Iterable[int], source: str = "") -> Scale:
    """Return the scale of a file that declares none, from the best grade of each of its queries.

    Where the usual start of relevance leaves half or more of the queries with a grade above 0 without anything
    relevant, it starts at 1: all means would be those of the few other queries.

    >>> guess_scale([3, 3, 1])["relevant"], guess_scale([3, 1, 1])["relevant"]
    (2, 1)
    """
    grades = [grade for grade in best if grade > 0]
    scale = scale_up_to(max(grades, default=0), source)
    if grades and _count_below(scale["relevant"], grades) >= _HALF * len(grades):
        return {**scale, "relevant": 1}
    return scale


def guess_scale_of(golden: GoldenSet) -> Scale:
    """Return the scale that would be guessed if a set were written without one."""
    return guess_scale((max(grades.values(), default=0) for grades in golden.qrels().values()), golden.name)


def find_scale(best: Iterable[int], reading: Reading, source: str, place: str = _OWN) -> Scale:
    """Return the scale of a file that declares none: what the project says of it, or else a guess with a note.

    ``place`` is where a declaration may stand.
    """
    grades = [grade for grade in best if grade > 0]
    guess = guess_scale(grades, source)
    top, start = len(guess["grades"]) - 1, guess["relevant"]
    if reading.relevant is not None:
        if reading.relevant > top:
            problem = f"has grades up to {top}, and relevant = {reading.relevant} in {_OWN} makes none of them relevant"
            raise InputError(problem, source=source, hint=f"write relevant = {start}, or grade more documents")
        return {**guess, "relevant": reading.relevant}
    if top > 1:
        why, other = _explain_start(start, grades), 2 if start == 1 else 1
        reading.note(
            f"{source}: grades go up to {top} {UNDECLARED}: relevant from {start} on{why}; "
            f"relevant = {start} in {place} confirms that, relevant = {other} changes it"
        )
    return guess


def _explain_start(start: int, grades: list[int]) -> str:
    """Return why relevance starts lower than usual, or what the usual start leaves without anything relevant."""
    usual = scale_up_to(max(grades), "")["relevant"]
    below = _count_below(usual, grades)
    lacking = f"{below:,} of {len(grades):,} judged queries"
    if start < usual:
        return f", since from {usual} on {lacking} would have nothing relevant"
    return f", so that {lacking} have nothing relevant" if below else ""


def _count_below(relevant: int, grades: list[int]) -> int:
    return sum(grade < relevant for grade in grades)
