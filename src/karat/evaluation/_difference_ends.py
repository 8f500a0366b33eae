"""The worst and the best difference of two runs, over all grades that their unjudged documents could have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from karat.core import GoldenSet, Measure, MeasureError
from karat.evaluation._ends import MovingScores, RunLists, find_extreme, split_queries
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._lists import find_depth, restrict_golden
from karat.measures import has_exact_difference, score_differences


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceEnds:
    """Two runs with the scores of their worst difference, and with those of the best."""

    worst: tuple[Evaluation, Evaluation]
    """The candidate and the baseline with the grades that are worst for the candidate beside the baseline."""
    best: tuple[Evaluation, Evaluation]
    exact: frozenset[str]
    """The measures in which some grades reach both ends. In others no grades lead beyond them."""
    unjudged: Mapping[str, int]
    """How many pairs of query and document in the top k have no judgment, of queries whose lists differ."""


def find_difference_ends(
    candidate: Evaluation, baseline: Evaluation, golden: GoldenSet, measures: Sequence[str]
) -> DifferenceEnds:
    """Return the ends of the difference of two runs over all grades of unjudged documents.

    In sums over documents and in shares of the relevant ones, each document has one grade in both runs. In other
    measures, and where lists do not tell or a query has no value, the ends are those of each run by itself, as
    :func:`karat.evaluation.find_ends` has them.
    """
    exact, unjudged = {name for name in measures if _is_known(name)}, dict.fromkeys(measures, 0)
    low, high = (
        (MovingScores(evaluation=candidate, best=best), MovingScores(evaluation=baseline, best=not best))
        for best in (False, True)
    )
    for queries in split_queries(candidate, baseline, golden):
        mine, theirs = (RunLists(evaluation=run, golden=golden, queries=queries) for run in (candidate, baseline))
        for name in measures:
            unjudged[name] += mine.count_unjudged(theirs, name)
        known = _find_known(mine, theirs)
        exact &= known.exact
        for runs, values in ((low, known.worst), (high, known.best)):
            runs[0].move(mine, theirs, {name: pair[0] for name, pair in values.items()})
            runs[1].move(theirs, mine, {name: pair[1] for name, pair in values.items()})
    return DifferenceEnds(
        worst=(low[0].finish(), low[1].finish()),
        best=(high[0].finish(), high[1].finish()),
        exact=frozenset(exact),
        unjudged=unjudged,
    )


_Pair = tuple[Mapping[str, float], Mapping[str, float]]
"""The values of queries in the candidate, and in the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The values of two runs at the ends of their difference, in the measures in which these are known."""

    worst: Mapping[str, _Pair]
    best: Mapping[str, _Pair]
    exact: set[str]
    """The measures in which the lists tell all values, and no query could have any value."""


def _find_known(mine: RunLists, theirs: RunLists) -> _Known:
    measures = [name for name in mine.evaluation.scores.measures if _is_known(name)]
    queries = (mine.documents.keys() & theirs.documents.keys()) - mine.golden.unanswerable
    golden = restrict_golden(mine.golden, queries)
    ends = score_differences(golden, mine.returned, theirs.returned, measures) if measures and queries else {}
    exact = {name for name in measures if mine.tell(name) and theirs.tell(name)}
    worst: dict[str, _Pair] = {name: ({}, {}) for name in measures}
    best = worst.copy()
    for name, (low, high) in ends.items():
        if any(map(math.isnan, low[0].values())):
            exact.discard(name)
        least, most = find_extreme(name, best=False), find_extreme(name, best=True)
        worst[name] = _fill(low[0], least), _fill(low[1], most)
        best[name] = _fill(high[0], most), _fill(high[1], least)
    return _Known(worst=worst, best=best, exact=exact)


def _fill(values: Mapping[str, float], extreme: float) -> Mapping[str, float]:
    """Return values with the extreme of the measure where they are undefined."""
    return {query: extreme if math.isnan(value) else value for query, value in values.items()}


def _is_known(name: str) -> bool:
    """Return whether both ends of the difference of two runs are known in a measure."""
    try:
        return find_depth(name) is not None and has_exact_difference(Measure.parse(name))
    except MeasureError:  # of a package that is not installed here
        return False
