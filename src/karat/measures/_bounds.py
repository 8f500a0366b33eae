"""Bounds of measures over all grades that unjudged documents could have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from karat.core import Bounds, Floats, Measure, Scores
from karat.measures._alignment import Alignment, Bools, Hits, Ints, Unjudged
from karat.measures._measure import Bound, compute

Others = Callable[[int | None], Ints]
"""Returns, for a cut-off, how many unjudged documents only another ranking has down to there, per query."""

Judge = Callable[[int | None, int], Alignment]
"""Returns the alignment in which all documents down to a cut-off are judged, those without a judgment with a grade.
Measures with the same cut-off share it, and what it computes."""


@dataclass(frozen=True, kw_only=True)
class Bounding:
    """What bounds assume."""

    highest: int
    """The highest grade that a document could have."""
    others: Others | None = None
    """The unjudged documents of a ranking that this one is compared with. They could be relevant, too, and then this
    ranking missed them; and a query without relevant documents could have any value. None for a ranking by itself."""


def explain_unbounded(measure: Measure) -> str | None:
    """Return why a measure has no bounds over unjudged documents, or None if it has some.

    >>> explain_unbounded(Measure.parse("Bpref")), explain_unbounded(Measure.parse("AP"))
    ('none are known', None)
    """
    definition, arguments = measure.definition, measure.arguments()
    if definition.unjudged == "counted":
        return "it counts unjudged documents itself"
    if definition.higher_is_better is None:
        return "neither higher nor lower values of it are better"
    if definition.unjudged is None:
        return "none are known"
    if arguments.get("judged_only"):
        return "judged_only leaves unjudged documents out"
    return "it has gains of its own" if arguments.get("gains") else None


def bound_scores(
    scores: Scores, measures: Mapping[str, Measure], alignment: Alignment, skipped: Bools, bounding: Bounding
) -> Bounds:
    """Return the bounds of a table of scores.

    ``measures`` are those of the table, as they were computed, and ``skipped`` marks the cells that unjudged documents
    cannot fill: queries that are not in the run, or that a measure is not meant for. For a ranking by itself, a query
    without a value has no bounds either.
    """
    worst, best = np.full((2, *scores.values.shape), np.nan)
    unjudged = np.zeros(scores.values.shape, np.int64)
    find = cache(alignment.unjudged)
    judge = cache(lambda cutoff, grade: alignment.judge(find(cutoff).query, find(cutoff).rank, grade))
    unknown = {}
    for j, (key, measure) in enumerate(measures.items()):
        documents = find(measure.cutoff if isinstance(measure.cutoff, int) else None)
        unjudged[:, j] = documents.count()
        if why := explain_unbounded(measure):
            unknown[key] = why
            if bounding.others is None:
                continue
        ends = _bound(measure, alignment, documents, scores.values[:, j], bounding, judge)
        skip = skipped[:, j] if bounding.others else scores.codes[:, j] > 0
        worst[:, j], best[:, j] = np.where(skip, np.nan, ends)
    loose = {key for key, measure in measures.items() if _is_loose(measure) and key not in unknown}
    return Bounds(worst=worst, best=best, unjudged=unjudged, unknown=unknown, loose=frozenset(loose))


def _is_loose(measure: Measure) -> bool:
    bound = measure.definition.unjudged
    return isinstance(bound, Bound) and not bound.exact


def _bound(measure: Measure, a: Alignment, documents: Hits, values: Floats, bounding: Bounding, judge: Judge) -> Floats:
    """Return the worst values and the best ones, two rows.

    A measure without bounds could have any value, unless it counts unjudged documents itself.
    """
    if measure.definition.unjudged in ("counted", "independent"):
        return np.stack([values, values])
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    others = np.zeros_like(a.retrieved) if bounding.others is None else bounding.others(cutoff)
    known = (documents.count() == 0) & (others == 0)
    if explain_unbounded(measure):
        low, high = np.full((2, len(values)), np.nan)
        anything = ~known
    else:
        grade = highest_grade(measure, a, bounding.highest)
        low, high = _compute_ends(measure, a, Unjudged(hits=documents, others=others, grade=grade), judge)
        anything = np.isnan(compute(measure, a)) & ~known
    least, most = measure.bounds
    # The values themselves are those of some grades, so that they lie between the ends but for rounding.
    low = np.where(known, values, np.where(anything, least, np.fmin(low, values)))
    high = np.where(known, values, np.where(anything, most, np.fmax(high, values)))
    ends = (high, low) if measure.definition.higher_is_better is False else (low, high)
    return np.where(np.isinf(ends), np.nan, ends)


def highest_grade(measure: Measure, a: Alignment, highest: int) -> int:
    """Return the highest grade that a document could have, as far as the measure tells grades apart."""
    arguments = measure.arguments()
    rel, scale = arguments.get("rel"), arguments.get("max_grade")
    top = max(1, highest, int(a.grades.max(initial=0)), rel if isinstance(rel, int) else 0)
    return min(top, scale) if isinstance(scale, int) else top


def _compute_ends(measure: Measure, a: Alignment, unjudged: Unjudged, judge: Judge) -> tuple[Floats, Floats]:
    """Return the lowest and the highest values; NaN where a measure is undefined whatever the grades are."""
    bound = measure.definition.unjudged
    arguments = {name: value for name, value in measure.arguments().items() if name != "judged_only"}
    if isinstance(bound, Bound):
        return bound.compute(a, measure.cutoff, unjudged, **arguments)
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else None
    others, grades = np.repeat(np.arange(len(a.queries)), unjudged.others), (0, unjudged.grade)
    judged = [judge(cutoff, grade) for grade in grades]
    if len(others):
        judged = [own.judge(others, np.zeros_like(others), grade) for own, grade in product(judged, grades)]
    corners = [compute(measure, alignment) for alignment in judged]
    return np.fmin.reduce(corners), np.fmax.reduce(corners)
