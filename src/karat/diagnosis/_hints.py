"""Hints from the whole run: patterns of its means that point to a cause, whatever single queries show."""

from __future__ import annotations

from collections.abc import Iterator

from karat.causes import Diagnosis
from karat.reports import hints


def find_hints(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield what the means point to: nothing found, high precision with low recall, a weak order."""
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
    yield from hints({name: total / len(cases) for name, total in means.items()}, unfound, len(cases), empty=empty)
