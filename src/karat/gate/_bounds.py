"""How far unjudged documents could move the difference of two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from karat.core import GoldenSet, average
from karat.evaluation import Evaluation, find_difference_ends
from karat.gate._pairing import lower_is_better, pair_scores, scale_of
from karat.schema import DifferenceBounds


def bound_differences(
    candidate: Evaluation, baseline: Evaluation, measures: Sequence[str], golden: GoldenSet
) -> Mapping[str, DifferenceBounds]:
    """Return the worst and the best difference of each measure over all grades of unjudged documents.

    Where some grades reach both ends they are exact: each document has one grade in both runs. Of other measures, each
    end takes the grades that are worst for the one run, and those that are best for the other: no grades are worse.
    """
    runs = find_difference_ends(candidate, baseline, golden, measures)
    bounds = {}
    for measure in measures:
        worst = _differ(*runs.worst, measure)
        best = _differ(*runs.best, measure)
        ends = (-worst, -best) if lower_is_better(measure) else (worst, best)
        bounds[measure] = DifferenceBounds(
            worst=None if math.isnan(worst) else worst,
            best=None if math.isnan(best) else best,
            decided=ends[0] > 0 or ends[1] < 0 or ends[0] == ends[1],
            unjudged=runs.unjudged[measure],
            exact=measure in runs.exact,
        )
    return bounds


def _differ(candidate: Evaluation, baseline: Evaluation, measure: str) -> float:
    """Return the difference of the means over the queries that have a value in both; NaN if a value has no bound."""
    if any(math.isnan(run.mean(measure)) for run in (candidate, baseline)):
        return math.nan
    pairs, scale = pair_scores(candidate, baseline, measure), scale_of(measure)
    return average(pairs.after, scale) - average(pairs.before, scale)
