"""Hints from the whole run: patterns of its means that point to a cause, whatever single queries show."""

from __future__ import annotations

from collections.abc import Iterator

from karat.causes import Diagnosis
from karat.core import shorten
from karat.reports import hints


def find_hints(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what the means point to: nothing found, high precision with low recall, a weak order."""
    yield from _find_unjudged(diagnosis)
    cases = [case for case in diagnosis.cases if case.expected]
    if not cases:
        return
    precision = recall = reciprocal = 0.0
    unfound = empty = 0
    cut = cases[0].cut
    for case in cases:
        ranks = [rank for document in case.found if (rank := case.rank_of(document)) is not None]
        precision += len(case.found) / cut
        recall += len(case.found) / len(case.expected)
        reciprocal += 1 / min(ranks) if ranks else 0.0
        unfound += not ranks
        empty += not case.trace.hits
    means = {f"P@{cut}": precision, f"R@{cut}": recall, f"RR@{cut}": reciprocal}
    if 0 < empty < len(cases):
        first = next(case.query.id for case in cases if not case.trace.hits)
        yield f"{empty:,} of {len(cases):,} queries got no hits at all, such as {shorten(first)}"
    yield from hints({name: total / len(cases) for name, total in means.items()}, unfound, len(cases), empty=empty)


def _find_unjudged(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield that queries have nothing to lose, since nothing is judged relevant for them."""
    unjudged = [case.query.id for case in diagnosis.cases if case.is_unjudged]
    if unjudged:
        which = f"{len(unjudged):,} of {len(diagnosis.cases):,} queries, such as {shorten(unjudged[0])},"
        grade = diagnosis.lab.golden.relevant
        yield (
            f"{which} have no document of grade {grade} or more, and so nothing to lose; karat golden check says what "
            "to do"
        )
