"""What to judge next so that it is known which of two runs is better."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from karat.core import Floats, GoldenSet, Measure
from karat.golden._pool import Pooled, distinct_documents
from karat.measures import LinearMeasure, make_linear
from karat.stats import DifferenceEstimate, estimate_difference

Run = Mapping[str, Mapping[str, float]]
_EVEN = 0.5


@dataclass(frozen=True, kw_only=True)
class PoolDecision:
    """Which of two runs is better, how sure that is, and what to judge to be surer."""

    measure: Measure
    estimate: DifferenceEstimate
    """How the mean of the second run differs from that of the first."""
    pairs: tuple[Pooled, ...]
    """What nobody judged and the runs rank differently; the pairs that matter most first."""
    judged: int
    """How many pairs that the runs rank differently are judged."""
    relevant: int
    """How many of them have a gain."""
    lacking: int
    """How many are not judged and cannot be, because the set lacks the document; they stay unknown."""

    @property
    def better(self) -> int | None:
        """The place of the run that is better as far as is known, 0 or 1; None if it is not known."""
        return None if self.estimate.confidence <= _EVEN else int(self.estimate.judged > 0)


def decide_pool(golden: GoldenSet, runs: tuple[Run, Run], measure: str | Measure = "DCG@10") -> PoolDecision:
    """Return which of two runs is better on a measure as far as it is judged, and what to judge next to know it.

    The measure is a sum over documents (DCG, nDCG, P, R or RBP, with what nDCG and R divide by taken from the judgments
    so far). A document's weight is what it would add to the difference of the two means if it had a gain of 1. What
    has the greatest weight, by its amount, is judged first; a document that both have at the same rank tells nothing.
    Nobody knows how many of the unjudged documents are relevant: the confidence holds for any share of them, from none
    to the upper limit of what was judged. It is 0.5 where that does not decide, and while hardly anything is known not
    to be relevant.

    >>> decision = decide_pool(GoldenSet(), ({"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 3, "c": 2, "d": 1}}), "P@2")
    >>> [pair.document for pair in decision.pairs], decision.estimate.confidence
    (['b', 'c'], 0.5)
    """
    pool = weigh_pool(golden, runs, measure)
    known = ~np.isnan(pool.gains)
    # Rounded, so that noise in the last digits does not reorder ties: these stay in the order of the queries.
    order = np.argsort(-np.round(np.abs(pool.weights), 12), kind="stable")
    unjudged = [pool.pairs[i] for i in order if not known[i]]
    pairs = tuple(pair for pair in unjudged if not golden.documents or pair.document in golden.document_by_id)
    return PoolDecision(
        measure=pool.measure,
        estimate=estimate_difference(pool.weights, pool.gains, pool.gain_of_grade[-1]),
        pairs=pairs,
        judged=int(known.sum()),
        relevant=int((pool.gains[known] > 0).sum()),
        lacking=len(unjudged) - len(pairs),
    )


@dataclass(frozen=True, kw_only=True)
class WeighedPool:
    """Every pair that two runs rank differently: its weight in the difference of the means, and its gain."""

    measure: Measure
    pairs: tuple[Pooled, ...]
    """In the order of the queries."""
    weights: Floats
    gains: Floats
    """NaN where nobody judged the pair."""
    gain_of_grade: tuple[float, ...]
    """The gain of each grade of the set, from 0 up."""


def weigh_pool(golden: GoldenSet, runs: tuple[Run, Run], measure: str | Measure = "DCG@10") -> WeighedPool:
    """Return the pairs that two runs rank differently, judged or not, with what each adds to the difference."""
    linear = make_linear(measure, golden.relevant)
    names = dict.fromkeys(query for run in runs for query in run)
    judged = golden.qrels()
    queries = [query for query in names if query not in golden.unanswerable and (query in judged or not golden.queries)]
    documents = [
        document
        for query in queries
        for document in _weigh(query, [_rank_units(query, run, golden) for run in runs], golden, linear)
    ]
    highest = max(1, len(golden.grades) - 1, golden.relevant)
    return WeighedPool(
        measure=linear.measure,
        pairs=tuple(document.pair for document in documents),
        weights=np.array([document.weight for document in documents]) / max(1, len(queries)),
        gains=np.array([document.gain for document in documents]),
        gain_of_grade=tuple(linear.gains(np.arange(highest + 1)).tolist()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weighted:
    """A document that two runs rank differently."""

    pair: Pooled
    weight: float
    gain: float
    """NaN if nobody judged it."""


class _Place(NamedTuple):
    """Where a run has a document, or the first of a class, and by which hits."""

    rank: int
    document: str
    hits: list[str]


def _rank_units(query: str, run: Run, golden: GoldenSet) -> dict[str, _Place]:
    """Return the places of documents, or of their classes, in the ranking of a query."""
    scores = run.get(query, {})
    ranking = sorted(scores, key=lambda name: (scores[name], name), reverse=True)
    units = distinct_documents(ranking, golden.document_by_id, golden.class_of)
    return {unit: _Place(rank, *names) for rank, (unit, names) in enumerate(units.items(), 1)}


def _weigh(
    query: str, places: Sequence[Mapping[str, _Place]], golden: GoldenSet, linear: LinearMeasure
) -> Iterator[_Weighted]:
    """Yield the documents of a query that add to the difference of two runs if they have a gain."""
    units = list(dict.fromkeys(unit for own in places for unit in own))
    ranks = np.array([[own[unit].rank if unit in own else 0 for unit in units] for own in places], np.int64)
    grades = _grade_units(golden, query)
    before, after = map(linear.weights, ranks)
    weights = (after - before) / linear.divisor(np.array(list(grades.values()), np.int64))
    for unit, weight in zip(units, weights.tolist(), strict=True):
        if weight == 0:  # both have it at the same rank, or below the cut-off
            continue
        own = [place[unit] for place in places if unit in place]
        best, grade = min(own), grades.get(unit)
        yield _Weighted(
            pair=Pooled(
                query=query,
                document=best.document,
                rank=best.rank,
                runs=len(own),
                grade=grade,
                hits=tuple(dict.fromkeys(hit for place in own for hit in place.hits)),
            ),
            weight=weight,
            gain=math.nan if grade is None else float(linear.gains(np.array([grade]))[0]),
        )


def _grade_units(golden: GoldenSet, query: str) -> dict[str, int]:
    """Return the grades of judged documents, or of their classes, which have the best grade of their members."""
    units: dict[str, int] = {}
    for target, grade in golden.grades_by_query.get(query, {}).items():
        unit = golden.class_of.get(target.document, target.document)
        units[unit] = max(grade, units.get(unit, grade))
    return units
