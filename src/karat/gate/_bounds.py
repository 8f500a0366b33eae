"""How far unjudged documents could move the difference of two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from karat.core import GoldenSet, average
from karat.evaluation import Evaluation, count_unjudged, find_ends
from karat.gate._pairing import lower_is_better, pair_scores, scale_of
from karat.schema import DifferenceBounds


def bound_differences(
    candidate: Evaluation, baseline: Evaluation, measures: Sequence[str], golden: GoldenSet
) -> Mapping[str, DifferenceBounds]:
    """Return the worst and the best difference of each measure over all grades of unjudged documents.

    At the worst end the candidate has its worst scores and the baseline its best, each over all grades by itself, so
    that no grades make the difference worse; at the best end it is the other way round.
    """
    worst_candidate, best_baseline = find_ends(candidate, baseline, golden)
    worst_baseline, best_candidate = find_ends(baseline, candidate, golden)
    assert best_baseline is not None
    assert best_candidate is not None
    bounds = {}
    for measure in measures:
        worst = _differ(worst_candidate, best_baseline, measure)
        best = _differ(best_candidate, worst_baseline, measure)
        ends = (-worst, -best) if lower_is_better(measure) else (worst, best)
        bounds[measure] = DifferenceBounds(
            worst=None if math.isnan(worst) else worst,
            best=None if math.isnan(best) else best,
            decided=ends[0] > 0 or ends[1] < 0 or ends[0] == ends[1],
            unjudged=count_unjudged(candidate, baseline, golden, measure),
        )
    return bounds


def _differ(candidate: Evaluation, baseline: Evaluation, measure: str) -> float:
    """Return the difference of the means over the queries that have a value in both; NaN if a value has no bound."""
    if any(math.isnan(run.mean(measure)) for run in (candidate, baseline)):
        return math.nan
    pairs, scale = pair_scores(candidate, baseline, measure), scale_of(measure)
    return average(pairs.after, scale) - average(pairs.before, scale)
