"""The worst difference of two rankings over all grades of unjudged documents, each with one grade in both."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from karat.core import Floats, GoldenSet, Measure
from karat.measures._alignment import Alignment, Ints, Pool
from karat.measures._bounds import explain_unbounded, highest_grade
from karat.measures._collapse import Collapse
from karat.measures._conventions import conventions
from karat.measures._hits import fill_in
from karat.measures._measure import Bound, compute
from karat.measures._overlap import DEFAULT_OVERLAP

_EXACT = ("additive", "share", "best")
Values = tuple[Floats, Floats]
"""The values of the first ranking and those of the second, per query."""
Pair = tuple[dict[str, float], dict[str, float]]
"""The same, by the name of the query."""


def has_exact_difference(measure: Measure) -> bool:
    """Return whether the worst difference of two rankings is known exactly, and not only bounded.

    >>> has_exact_difference(Measure.parse("R@10")), has_exact_difference(Measure.parse("AP"))
    (True, False)
    """
    definition = measure.definition
    if definition.queries != "answerable" or definition.aggregate == "geometric" or explain_unbounded(measure):
        return False
    bound = definition.unjudged
    if not isinstance(bound, Bound):
        return bound in _EXACT
    parameter, value = bound.unless
    return bound.difference is not None and measure.arguments().get(parameter) != value


def score_differences(
    golden: GoldenSet,
    hits: Mapping[str, Sequence[Any]],
    others: Mapping[str, Sequence[Any]],
    measures: Collection[str],
) -> dict[str, tuple[Pair, Pair]]:
    """Return the values of hits and of others where the hits are worst beside the others, and where the others are.

    These are over all grades of unjudged documents, of which each has one grade in both. Units are documents, and the
    measures are those for which :func:`has_exact_difference` holds. A query is left out if no grade is missing in the
    top k, or if the tops are the same. Its values are NaN if the measure is undefined without the missing grades.

    >>> from karat import Hit, Judgment, Target
    >>> golden = GoldenSet(judgments=(Judgment(query="q", target=Target(document="a"), grade=3),))
    >>> first, second = [Hit("x", 2.0), Hit("a", 1.0)], [Hit("a", 2.0), Hit("x", 1.0)]
    >>> score_differences(golden, {"q": first}, {"q": second}, ["P@1"])
    {'P@1': (({'q': 0.0}, {'q': 1.0}), ({'q': 1.0}, {'q': 1.0}))}
    """
    using = fill_in(golden, tuple(measures), conventions("karat"))
    collapse = Collapse(golden=golden, unit="document", overlap=DEFAULT_OVERLAP, resolve=None, places=False)
    first, second = collapse.align(hits, "hits"), collapse.align(others, "others")
    find_pool = cache(lambda k: collapse.find_pool(hits, others, k))
    ends = {}
    for name in measures:
        measure = using.resolve(Measure.parse(name))
        pool = find_pool(measure.cutoff if isinstance(measure.cutoff, int) else None)
        grade = highest_grade(measure, first, len(golden.grades) - 1)
        rows = np.flatnonzero(first.count(pool.query))
        worst, swapped = (
            _find_worst(measure, first, second, pool, grade),
            replace(pool, first=pool.second, second=pool.first),
        )
        best = _find_worst(measure, second, first, swapped, grade)[::-1]
        ends[name] = _name_values(first, rows, worst), _name_values(first, rows, best)
    return ends


def _name_values(a: Alignment, rows: Ints, values: Values) -> Pair:
    queries = [a.queries[row] for row in rows.tolist()]
    first, second = (dict(zip(queries, column[rows].tolist(), strict=True)) for column in values)
    return first, second


def _find_worst(measure: Measure, first: Alignment, second: Alignment, pool: Pool, grade: int) -> Values:
    """Return the values where the first is worst beside the second; NaN if one is undefined without the pool."""
    sign = -1.0 if measure.definition.higher_is_better is False else 1.0
    worst = now = compute(measure, first), compute(measure, second)
    for grades in _list_grades(measure, first, second, pool, grade):
        ours = compute(measure, first.judge(pool.query, pool.first, grades))
        theirs = compute(measure, second.judge(pool.query, pool.second, grades))
        worse = sign * (ours - theirs) < sign * (worst[0] - worst[1])
        worst = np.where(worse, ours, worst[0]), np.where(worse, theirs, worst[1])
    undefined = np.isnan(now[0]) | np.isnan(now[1])
    return np.where(undefined, np.nan, worst[0]), np.where(undefined, np.nan, worst[1])


def _list_grades(measure: Measure, first: Alignment, second: Alignment, pool: Pool, top: int) -> Iterator[Ints]:
    """Yield the grades of the pool that can make the first ranking worst beside the second.

    A sum over documents is worst if those have the highest grade which the second ranks higher, and the others none.

    Of two shares the difference is N / f(D), where N is the difference of the numbers of relevant documents, and f
    grows with the number D of all that are relevant, by at most as much as D does; N is never more than f(D). So it
    moves as N does with a document that only one of them has. One that both have changes only D: all of them are
    relevant, or none, by the sign of N.

    If the best document gives the value, one alone is enough to make the second as good as it can be.
    """
    bound = measure.definition.unjudged
    if isinstance(bound, Bound) and bound.difference is not None:
        arguments = {name: value for name, value in measure.arguments().items() if name != "judged_only"}
        yield bound.difference(first, second, measure.cutoff, pool, top, **arguments)
        return
    if bound == "best":
        yield _choose_one(measure, first, second, pool, top)
        return
    missed, shared = pool.first == 0, (pool.first > 0) & (pool.second > 0)
    if measure.definition.unjudged == "additive":
        yield np.where(missed | (shared & (pool.second < pool.first)), top, 0)
    else:
        yield np.where(missed, top, 0)
        yield np.where(missed | shared, top, 0)


def _choose_one(measure: Measure, first: Alignment, second: Alignment, pool: Pool, top: int) -> Ints:
    """Return the highest grade for that document of each query that alone makes the first worst, and 0 for others."""
    ours, theirs = (
        np.fmax(compute(measure, rivals)[pool.query], _score_alone(measure, ranks, top))
        for rivals, ranks in ((first, pool.first), (second, pool.second))
    )
    order = np.lexsort((ours - theirs, pool.query))
    chosen = order[np.diff(pool.query[order], prepend=-1) != 0]
    grades = np.zeros(len(order), np.int64)
    grades[chosen] = top
    return grades


def _score_alone(measure: Measure, ranks: Ints, grade: int) -> Floats:
    """Return the value of rankings with one relevant document each, at these ranks; 0 is one that they do not have."""
    number = len(ranks)
    alone = Alignment(
        queries=("",) * number,
        starts=np.arange(number + 1),
        grades=np.full(number, grade, np.int64),
        ranks=ranks.copy(),
        retrieved=ranks.copy(),
        in_run=np.ones(number, np.bool_),
    )
    return compute(measure, alone)
