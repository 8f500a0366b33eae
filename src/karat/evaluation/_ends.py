"""A run at its worst beside another at its best, over all grades that their unjudged documents could have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from karat.core import GoldenSet, Measure, MeasureError
from karat.evaluation._evaluation import Evaluation
from karat.evaluation._lists import find_depth, is_complete, score_lists, stored_lists, suffices
from karat.measures import measure_bounds
from karat.schema import MeasureBounds

_SETTLED = ("independent", "counted")
"""Measures that judging more documents does not change, or that say themselves how many are judged."""


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
    mine = _Lists(evaluation=candidate, golden=golden)
    if baseline is None:
        return _move(mine, None, best=False), None
    theirs = _Lists(evaluation=baseline, golden=golden)
    return _move(mine, theirs, best=False), _move(theirs, mine, best=True)


def count_unjudged(candidate: Evaluation, baseline: Evaluation | None, golden: GoldenSet, measure: str) -> int:
    """Count the pairs of query and document in the top k of a measure that nobody judged, where two lists differ.

    Lists that do not tell are not counted.
    """
    mine = _Lists(evaluation=candidate, golden=golden)
    theirs = None if baseline is None else _Lists(evaluation=baseline, golden=golden)
    count = 0
    for query in candidate.queries:
        own, other = mine.top(query, measure), _top(theirs, query, measure)
        if own != other:
            count += len({*(own or ()), *(other or ())} - mine.judged(query))
    return count


def find_bounds(evaluation: Evaluation, golden: GoldenSet, measures: Iterable[str]) -> dict[str, MeasureBounds]:
    """Return the bounds of means over the unjudged documents of a run, of each measure for which its lists tell."""
    lists = _Lists(evaluation=evaluation, golden=golden)
    names = [
        name
        for name in measures
        if name in evaluation.scores.columns
        and not _is_settled(name)
        and all(lists.top(query, name) is not None for query in evaluation.queries)
    ]
    if not names:
        return {}
    return measure_bounds(score_lists(golden, lists.documents, names, evaluation, bounds=True))


@dataclass(frozen=True, kw_only=True)
class _Lists:
    """The lists that decided the scores of an evaluation."""

    evaluation: Evaluation
    golden: GoldenSet

    @cached_property
    def documents(self) -> Mapping[str, Sequence[str]]:
        return stored_lists(self.evaluation, self.evaluation.queries)

    def top(self, query: str, measure: str) -> tuple[str, ...] | None:
        """Return the documents that a measure looks at, or their classes; None if the lists do not tell.

        A query that was not asked has none.
        """
        if query not in self.evaluation.query_set:
            return ()
        depth, documents = find_depth(measure), self.documents.get(query)
        if depth is None or documents is None:
            return None
        if not suffices(measure, self.golden, documents, is_complete(self.evaluation, query)):
            return None
        return tuple(dict.fromkeys(map(self._unit, documents)))[: depth or None]

    def judged(self, query: str) -> set[str]:
        return {self._unit(target.document) for target in self.golden.grades_by_query.get(query, {})}

    def _unit(self, document: str) -> str:
        return self.golden.class_of.get(document, document)


def _top(lists: _Lists | None, query: str, measure: str) -> tuple[str, ...] | None:
    return () if lists is None else lists.top(query, measure)


def _move(mine: _Lists, theirs: _Lists | None, *, best: bool) -> Evaluation:
    """Return an evaluation with the best or the worst scores that it could have beside another."""
    evaluation = mine.evaluation
    moved = evaluation.scores.values.copy()
    for name, changes in _find_changes(mine, theirs, best=best):
        column = evaluation.scores.columns[name]
        lost = [row for row, value in changes.items() if math.isnan(value) and not evaluation.scores.codes[row, column]]
        moved[list(changes), column] = list(changes.values())
        if lost:  # a mean over the other queries could be better than the truth
            moved[:, column] = math.nan
    scores = evaluation.scores.with_values(moved)
    means = {name: _find_extreme(name, best=best) for name in evaluation.means if not _is_settled(name)}
    return replace(
        evaluation,
        scores=scores,
        repeats=(),
        wordings=(),
        variants={},
        means={**evaluation.means, **(scores.mean() if evaluation.has_queries else means)},
    )


def _find_changes(mine: _Lists, theirs: _Lists | None, *, best: bool) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield each measure with the values that could be others, by row of the table."""
    evaluation = mine.evaluation
    names = [name for name in evaluation.scores.measures if not _is_settled(name)]
    scored = [name for name in names if find_depth(name) is not None]
    ends: dict[str, dict[str, float]] = {}
    if mine.documents and scored:
        others = {} if theirs is None else theirs.documents
        table = score_lists(mine.golden, mine.documents, scored, evaluation, bounds=True, others=others)
        ends = {name: (table.at_best() if best else table.at_worst()).column(name) for name in scored}
    for name in names:
        extreme = _find_extreme(name, best=best)
        changes = {}
        for row, query in enumerate(evaluation.scores.queries):
            own, other = mine.top(query, name), _top(theirs, query, name)
            if query in evaluation.failures or (own == other and own is not None):
                continue
            known = own is not None and other is not None
            changes[row] = ends[name].get(query, math.nan) if known else extreme
        yield name, changes


def _is_settled(name: str) -> bool:
    try:
        return Measure.parse(name).definition.unjudged in _SETTLED
    except MeasureError:  # of a package that is not installed here
        return False


def _find_extreme(name: str, *, best: bool) -> float:
    """Return the best or the worst value of a measure; NaN if there is none."""
    try:
        measure = Measure.parse(name)
    except MeasureError:
        return math.nan
    higher = measure.definition.higher_is_better
    end = measure.bounds[int(best == (higher is True))]
    return end if higher is not None and math.isfinite(end) else math.nan
