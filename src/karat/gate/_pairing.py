"""The values of two runs, query by query: of those that both have, or as the gate counts what was lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from karat.core import Floats, Measure
from karat.evaluation import Evaluation
from karat.stats import Scale

Rows: TypeAlias = slice | NDArray[np.int64]
_ALL = slice(None)


def lower_is_better(measure: str) -> bool:
    """Return whether lower values of a measure are better, such as those of DupRate."""
    return Measure.parse(measure).definition.higher_is_better is False


def scale_of(measure: str) -> Scale:
    """Return how a measure is averaged over queries, and hence tested: ``geometric`` for GMAP and GBpref."""
    return "geometric" if Measure.parse(measure).definition.aggregate == "geometric" else "mean"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """The values of one measure in two runs, query by query."""

    queries: tuple[str, ...]
    before: Floats
    """The values of the baseline."""
    after: Floats
    """The values of the candidate."""

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[tuple[str, float, float]]:
        """Yield each query with its value in the baseline and in the candidate."""
        return zip(self.queries, self.before.tolist(), self.after.tolist(), strict=True)


def pair_scores(
    candidate: Evaluation, baseline: Evaluation, measure: str, queries: Sequence[str] | None = None
) -> Pairs:
    """Return the values of each query that has one in both runs, in the order of the baseline."""
    return match_queries(candidate, baseline, queries).pair(candidate, baseline, measure)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Match:
    """The queries that two runs have, and their rows in the scores of each."""

    queries: tuple[str, ...]
    before: Rows
    """Rows of the baseline; all of them in their order if it is a slice."""
    after: Rows

    def pair(self, candidate: Evaluation, baseline: Evaluation, measure: str, *, count_lost: bool = False) -> Pairs:
        """Return the values of a measure of the queries that have one in both runs.

        With ``count_lost``, a query that only the baseline has a value for counts as 0, as in :func:`pair_with_lost`.
        """
        if measure not in candidate.scores.columns or measure not in baseline.scores.columns:
            return Pairs(queries=(), before=np.zeros(0), after=np.zeros(0))
        before = baseline.scores.values[self.before, baseline.scores.columns[measure]]
        after = candidate.scores.values[self.after, candidate.scores.columns[measure]]
        in_both = ~(np.isnan(before) | np.isnan(after))
        if count_lost and not lower_is_better(measure) and in_both.any():
            lost = np.isnan(after) & ~np.isnan(before)
            lost[lost] = [query in candidate.query_set for query in compress(self.queries, lost.tolist())]
            after, in_both = np.where(lost, 0.0, after), in_both | lost
        if in_both.all():
            return Pairs(queries=self.queries, before=before, after=after)
        return Pairs(
            queries=tuple(compress(self.queries, in_both.tolist())), before=before[in_both], after=after[in_both]
        )


def match_queries(candidate: Evaluation, baseline: Evaluation, queries: Sequence[str] | None = None) -> Match:
    """Return the queries that two runs have, in the order of the baseline, or in that of some that are named."""
    now, then = candidate.scores, baseline.scores
    if queries is None and now.queries == then.queries:
        return Match(queries=then.queries, before=_ALL, after=_ALL)
    names = then.queries if queries is None else dict.fromkeys(queries)
    if now.queries == then.queries:  # a query has the same row in both
        shared = tuple([query for query in names if query in then.rows])
        rows = then.find_rows(shared)
        return Match(queries=shared, before=rows, after=rows)
    shared = tuple([query for query in names if query in then.rows and query in now.rows])
    return Match(queries=shared, before=then.find_rows(shared), after=now.find_rows(shared))


def pair_with_lost(
    candidate: Evaluation, baseline: Evaluation, measure: str, queries: Sequence[str] | None = None
) -> Pairs:
    """Return the values of each query before and now, as the gate compares them.

    A query that has a value in the baseline, was asked and has none now counts as 0, unless lower is better.
    """
    pairs = pair_scores(candidate, baseline, measure, queries)
    if lower_is_better(measure) or not len(pairs):  # 0 would be a reward
        return pairs
    names, before = baseline.scores.present(measure, queries)
    after = candidate.scores.look_up(measure, names)
    missing = np.isnan(after)
    if not missing.any():
        return Pairs(queries=names, before=before, after=after)
    kept = [not lost or query in candidate.query_set for query, lost in zip(names, missing.tolist(), strict=True)]
    after = np.where(missing, 0.0, after)
    return Pairs(queries=tuple(compress(names, kept)), before=before[kept], after=after[kept])


def shared_queries(
    candidate: Evaluation, baseline: Evaluation, queries: Sequence[str] | None = None
) -> Sequence[str] | None:
    """Return the queries that both runs were asked, of some queries only if they are named.

    If both were asked the same, or nothing is known of that, ``queries`` is returned as it is.
    """
    now, then = candidate.query_set, baseline.query_set
    if candidate.queries == baseline.queries and len(now) == len(candidate.queries):
        return queries
    if now.isdisjoint(then) or (now == then and len(now) == len(candidate.queries) == len(baseline.queries)):
        return queries
    return [query for query in (candidate.queries if queries is None else queries) if query in now and query in then]
