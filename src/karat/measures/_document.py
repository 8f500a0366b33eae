"""Scores as a typed document, from which every form of output is rendered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from karat.core import HIGHEST_GRADE, InputError, Scores, shorten
from karat.schema import MeasureBounds, MeasureScore, RepeatedHits, RunScores, ScoreReport, SegmentScores


def score_report(
    runs: Sequence[Scores],
    *,
    qrels: str,
    conventions: str,
    per_query: bool = False,
    by: str | None = None,
    groups: Mapping[str, str] | None = None,
) -> ScoreReport:
    """Return what ``karat score --json`` prints: plain numbers at full precision, and null where there is none.

    ``groups`` gives each query its value of the field ``by``; queries without one come under the empty string.

    >>> import karat
    >>> scores = karat.score({"q": {"a": 1}}, {"q": {"a": 1}}, ["P@1"])
    >>> score_report([scores], qrels="qrels.txt", conventions="karat").runs[0].measures["P@1"].mean
    1.0
    """
    highest = max((scores.highest_grade or 0 for scores in runs), default=0)
    return ScoreReport(
        qrels=qrels,
        conventions=conventions,
        runs=[run_scores(scores, per_query, by, groups) for scores in runs],
        highest_grade=highest if highest > HIGHEST_GRADE else UNSET,
    )


def run_scores(
    scores: Scores, per_query: bool = False, by: str | None = None, groups: Mapping[str, str] | None = None
) -> RunScores:
    """Return the part of a report that is about one run."""
    return RunScores(
        name=scores.name,
        measures=_measures(scores),
        not_in_run=list(scores.not_in_run),
        not_judged=scores.not_judged,
        repeated=_repeated_hits(scores.repeated),
        by=UNSET if by is None else {by: _segments(scores, groups or {})},
        queries={row.pop("query_id"): row for row in scores.to_dicts()} if per_query else UNSET,
    )


def _repeated_hits(repeated: Mapping[str, int]) -> RepeatedHits | UnsetType:
    return RepeatedHits(hits=sum(repeated.values()), queries=len(repeated)) if repeated else UNSET


def _segments(scores: Scores, groups: Mapping[str, str]) -> dict[str, SegmentScores]:
    members: dict[str, list[str]] = {}
    for query in scores.queries:
        members.setdefault(groups.get(query, ""), []).append(query)
    return {value: SegmentScores(measures=_measures(scores.select(members[value]))) for value in sorted(members)}


def _measures(scores: Scores) -> dict[str, MeasureScore]:
    bounds = measure_bounds(scores)
    return {measure: _measure(scores, measure, mean, bounds.get(measure)) for measure, mean in scores.mean().items()}


def measure_bounds(scores: Scores) -> dict[str, MeasureBounds]:
    """Return the bounds of the mean of each measure over unjudged documents; {} if the scores have none."""
    bounds = scores.bounds
    if bounds is None:
        return {}
    worst, best = scores.at_worst(), scores.at_best()
    return {
        measure: MeasureBounds(
            worst=_aggregate(worst, measure),
            best=_aggregate(best, measure),
            exact=measure not in bounds.loose and measure not in bounds.unknown,
            unjudged=int(bounds.unjudged[:, scores.columns[measure]].sum()),
            why=bounds.unknown.get(measure, UNSET),
        )
        for measure in scores.measures
    }


def _aggregate(scores: Scores, measure: str) -> float | None:
    """Return the mean, or the sum for a count; None where no query has a value."""
    if not scores.count(measure):
        return None
    return scores.sum(measure) if scores.aggregates.get(measure) == "sum" else scores.only([measure]).mean()[measure]


def _measure(scores: Scores, measure: str, mean: float, bounds: MeasureBounds | None) -> MeasureScore:
    if math.isinf(mean):
        hint = "a grade is too large for its gain; use lower grades, or set the gains"
        raise InputError(f"{measure} of {shorten(scores.name)} is infinite", hint=hint)
    definition = scores.definitions.get(measure, measure)
    return MeasureScore(
        mean=None if math.isnan(mean) else mean,
        n=scores.count(measure),
        total=scores.total,
        missing=scores.missing(measure),
        sum=scores.sum(measure) if scores.aggregates.get(measure) == "sum" else UNSET,
        definition=definition if definition != measure else UNSET,
        bounds=UNSET if bounds is None else bounds,
    )
