"""A run at its worst beside another at its best, over all grades that their unjudged documents could have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from karat.core import Floats, GoldenSet, Hit, Measure, MeasureError, Scores, TraceTable
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._lists import (
    find_depth,
    is_complete,
    make_hits,
    score_ranked,
    stored_lists,
)
from karat.evaluation._returned import keep_order
from karat.measures import measure_bounds
from karat.schema import MeasureBounds

_SETTLED = ("independent", "counted")
"""Measures that judging more documents does not change, or that say themselves how many are judged."""
_PART = 10_000  # queries whose lists are looked at together


def find_ends(
    candidate: Evaluation, baseline: Evaluation | None, golden: GoldenSet
) -> tuple[Evaluation, Evaluation | None]:
    """Return the candidate with the worst scores that it could have, and the baseline with the best.

    They are over all grades that the unjudged documents in the top k of both could have, so that the true difference
    is never worse than the one between the two. Where both have the same list in the top k, a query keeps its scores:
    whatever the grades are, they do not differ. Where the lists do not tell, because there are paraphrases or repeats,
    parts of documents are judged, or a baseline file has too few documents, the scores are the worst and the best
    that the measure can have.
    """
    least = MovingScores(evaluation=candidate, best=False)
    most = None if baseline is None else MovingScores(evaluation=baseline, best=True)
    for queries in split_queries(candidate, baseline, golden):
        mine = RunLists(evaluation=candidate, golden=golden, queries=queries)
        theirs = None if baseline is None else RunLists(evaluation=baseline, golden=golden, queries=queries)
        least.move(mine, theirs)
        if most is not None and theirs is not None:
            most.move(theirs, mine)
    return least.finish(), None if most is None else most.finish()


def split_queries(candidate: Evaluation, baseline: Evaluation | None, golden: GoldenSet) -> Iterator[frozenset[str]]:
    """Yield the queries of both runs in parts: the lists of very many at once would take a gigabyte.

    A grade that the set does not declare would be the highest in its own part only; then there is one part.
    """
    evaluations = (candidate,) if baseline is None else (candidate, baseline)
    queries = list(dict.fromkeys(query for evaluation in evaluations for query in evaluation.scores.queries))
    size = _PART if max(golden.used_grades, default=0) < len(golden.grades) else max(len(queries), 1)
    for start in range(0, len(queries), size):
        yield frozenset(queries[start : start + size])


def count_unjudged(candidate: Evaluation, baseline: Evaluation | None, golden: GoldenSet, measure: str) -> int:
    """Count the pairs of query and document in the top k of a measure that nobody judged, where two lists differ.

    Lists that do not tell are not counted, and neither are queries without an answer, whose values no grade changes.
    """
    count = 0
    for queries in split_queries(candidate, baseline, golden):
        mine = RunLists(evaluation=candidate, golden=golden, queries=queries)
        theirs = None if baseline is None else RunLists(evaluation=baseline, golden=golden, queries=queries)
        count += mine.count_unjudged(theirs, measure)
    return count


def find_bounds(evaluation: Evaluation, golden: GoldenSet, measures: Iterable[str]) -> dict[str, MeasureBounds]:
    """Return the bounds of means over the unjudged documents of a run, of each measure for which its lists tell."""
    lists = RunLists(evaluation=evaluation, golden=golden)
    names = [
        name
        for name in measures
        if name in evaluation.scores.columns and not _is_settled(name) and lists.all_tell(name)
    ]
    return measure_bounds(lists.score(names)) if names else {}


KnownValues = Mapping[str, Mapping[str, float]]
"""The values of queries that need no search, by measure and query."""
_Top = tuple[str, ...] | None
"""The documents that a measure looks at, or their classes, the best first; None if the lists do not tell."""


@dataclass(frozen=True, kw_only=True)
class RunLists:
    """The lists that decided the scores of an evaluation, or some of them."""

    evaluation: Evaluation
    golden: GoldenSet
    queries: frozenset[str] | None = None
    """The queries of these lists; None for all."""

    @cached_property
    def asked(self) -> Sequence[str]:
        queries = self.evaluation.queries
        return queries if self.queries is None else [query for query in queries if query in self.queries]

    @cached_property
    def documents(self) -> Mapping[str, Sequence[str]]:
        return stored_lists(self.evaluation, self.asked)

    def tops(self, measure: str) -> Mapping[str, _Top]:
        """Return what a measure looks at, by query. Measures of the same depth share it."""
        depth = find_depth(measure)
        if depth not in self._tops:
            self._tops[depth] = {query: self._top(query, depth) for query in self.asked}
        return self._tops[depth]

    def all_tell(self, measure: str) -> bool:
        """Return whether the lists of all queries are long enough for a measure."""
        if self.evaluation.depth is None and len(self.documents) == len(self.evaluation.queries):
            return find_depth(measure) is not None  # they are whole, and need not be looked at
        return None not in self.tops(measure).values()

    def tell(self, measure: str) -> bool:
        """Return whether each list is long enough for a measure; that of a query that failed need not be."""
        failures = self.evaluation.failures
        return all(top is not None or query in failures for query, top in self.tops(measure).items())

    def score(self, measures: Sequence[str], others: Mapping[str, Sequence[str]] | None = None) -> Scores:
        """Return the scores of the lists, with bounds over their unjudged documents, and those of other lists."""
        return score_ranked(self.golden, self._hits, measures, self.evaluation, bounds=True, others=others)

    def count_unjudged(self, others: RunLists | None, measure: str) -> int:
        """Count the documents in the top k of a measure that nobody judged, where the lists of others differ."""
        count, theirs = 0, _tops(others, measure)
        for query, own in self.tops(measure).items():
            other = theirs.get(query, ())  # a query that was not asked has none
            if own != other and query not in self.golden.unanswerable:
                count += len({*(own or ()), *(other or ())} - self.judged(query))
        return count

    def judged(self, query: str) -> set[str]:
        return {self._unit(target.document) for target, _ in self.golden.grades_by_query.pairs(query)}

    @property
    def returned(self) -> Mapping[str, Sequence[Hit]]:
        """The hits of each query. A query that failed has none, because it has the score of an empty list."""
        failures = self.evaluation.failures
        if failures.keys().isdisjoint(self._hits):
            return self._hits
        return {query: () if query in failures else hits for query, hits in self._hits.items()}

    @cached_property
    def _tops(self) -> dict[int | None, Mapping[str, _Top]]:
        return {}

    def _top(self, query: str, depth: int | None) -> _Top:
        units = self._units.get(query)
        if depth is None or units is None:
            return None
        if not is_complete(self.evaluation, query) and not 0 < depth <= len(units):
            return None
        return units[: depth or None]

    @cached_property
    def _units(self) -> Mapping[str, tuple[str, ...]]:
        lists = self.documents.items()
        if not self.golden.class_of:
            return {query: tuple(dict.fromkeys(documents)) for query, documents in lists}
        return {query: tuple(dict.fromkeys(map(self._unit, documents))) for query, documents in lists}

    @cached_property
    def _hits(self) -> Mapping[str, Sequence[Hit]]:
        """The hits of the run, if the evaluation has it: making them anew from the lists takes longer."""
        traces: Any = self.evaluation.traces
        if not isinstance(traces, TraceTable):
            traces = (trace for trace in traces if trace.query in self.documents)
        elif len(self.documents) == len(traces.by_query) == len(traces):
            traces = traces.by_query  # needs no object for any of them
        else:
            traces = traces.take(self.documents.keys())
        return keep_order(traces) or make_hits(self.documents)

    def _unit(self, document: str) -> str:
        return self.golden.class_of.get(document, document)


def _tops(lists: RunLists | None, measure: str) -> Mapping[str, _Top]:
    return {} if lists is None else lists.tops(measure)


@dataclass(frozen=True, kw_only=True)
class MovingScores:
    """An evaluation whose scores become the best or the worst that they could be beside another."""

    evaluation: Evaluation
    best: bool
    _lost: set[int] = field(default_factory=set)
    """The columns in which a value has no end: a mean over the other queries could be better than the truth."""

    @cached_property
    def values(self) -> Floats:
        """The scores, those of the lists that were looked at moved."""
        return self.evaluation.scores.values.copy()

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {query: row for row, query in enumerate(self.evaluation.scores.queries)}

    def move(self, mine: RunLists, theirs: RunLists | None, known: KnownValues | None = None) -> None:
        """Move the scores of some lists, beside those of the other evaluation. Those that are known need no search."""
        codes = self.evaluation.scores.codes
        rows = {query: self._rows[query] for query in mine.queries or self._rows if query in self._rows}
        for name, changes in _find_changes(mine, theirs, rows, best=self.best, known=known or {}):
            column = self.evaluation.scores.columns[name]
            self.values[list(changes), column] = list(changes.values())
            if any(math.isnan(value) and not codes[row, column] for row, value in changes.items()):
                self._lost.add(column)

    def finish(self) -> Evaluation:
        """Return the evaluation with the scores that were moved."""
        evaluation = self.evaluation
        self.values[:, list(self._lost)] = math.nan
        scores = evaluation.scores.with_values(self.values)
        means = {name: find_extreme(name, best=self.best) for name in evaluation.means if not _is_settled(name)}
        return replace(
            evaluation,
            scores=scores,
            repeats=(),
            wordings=(),
            variants={},
            means={**evaluation.means, **(scores.mean() if evaluation.has_queries else means)},
        )


def _find_changes(
    mine: RunLists, theirs: RunLists | None, rows: Mapping[str, int], *, best: bool, known: KnownValues
) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield each measure with the values that could be others, by row of the table."""
    evaluation = mine.evaluation
    names = [name for name in evaluation.scores.measures if not _is_settled(name)]
    scored = [name for name in names if find_depth(name) is not None and name not in known]
    ends: dict[str, dict[str, float]] = {}
    if mine.documents and scored:
        others = {} if theirs is None else theirs.documents
        table = mine.score(scored, others)
        ends = {name: (table.at_best() if best else table.at_worst()).column(name) for name in scored}
    for name in names:
        extreme, tops, theirs_tops = find_extreme(name, best=best), mine.tops(name), _tops(theirs, name)
        changes = {}
        for query, row in rows.items():
            own, other = tops.get(query, ()), theirs_tops.get(query, ())
            if query in evaluation.failures or (own == other and own is not None):
                continue
            if own is None or other is None:
                changes[row] = extreme
            elif name not in known:
                changes[row] = ends[name].get(query, math.nan)
            elif query in known[name]:
                changes[row] = known[name][query]
        yield name, changes


def _is_settled(name: str) -> bool:
    try:
        return Measure.parse(name).definition.unjudged in _SETTLED
    except MeasureError:  # of a package that is not installed here
        return False


def find_extreme(name: str, *, best: bool) -> float:
    """Return the best or the worst value of a measure; NaN if there is none."""
    try:
        measure = Measure.parse(name)
    except MeasureError:
        return math.nan
    higher = measure.definition.higher_is_better
    end = measure.bounds[int(best == (higher is True))]
    return end if higher is not None and math.isfinite(end) else math.nan
