"""The segments of a decision document: the means of parts of the queries, beside those of the baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from msgspec import UNSET

from karat.core import Floats, GoldenSet, average
from karat.evaluation import Evaluation, segment_queries
from karat.gate import pair_scores
from karat.schema import SegmentRow


def segment_rows(golden: GoldenSet, candidate: Evaluation, before: Evaluation | None) -> tuple[SegmentRow, ...]:
    """Return the means of every segment; those beside the baseline's are over the queries that both have."""
    scores, rows = candidate.scores, []
    both = {} if before is None else _pair_columns(candidate, before)
    for (field, value), queries in (candidate.segments or segment_queries(golden)).items():
        own = scores.find_rows(queries)
        means = _means({name: scores.values[own, column] for name, column in scores.columns.items()}, candidate)
        compared, baseline = means, None
        if before is not None:
            compared = _means({name: now[own] for name, (now, _) in both.items()}, candidate)
            baseline = _means({name: then[own] for name, (_, then) in both.items()}, before)
        row = SegmentRow(
            field=field,
            value=value,
            queries=len(queries),
            ids=tuple(queries),
            means=means,
            baseline=baseline,
            compared=UNSET if compared == means else compared,
        )
        rows.append(row)
    return tuple(rows)


def _pair_columns(candidate: Evaluation, before: Evaluation) -> dict[str, tuple[Floats, Floats]]:
    """Return the values of each measure now and then, in the rows of the candidate; NaN where either has none."""
    columns = {}
    for name in candidate.scores.measures:
        pairs = pair_scores(candidate, before, name)
        rows = candidate.scores.find_rows(pairs.queries)
        now, then = np.full((2, len(candidate.scores.queries)), math.nan)
        now[rows], then[rows] = pairs.after, pairs.before
        columns[name] = now, then
    return columns


def _means(columns: Mapping[str, Floats], evaluation: Evaluation) -> dict[str, float | None]:
    """Return the mean of each measure over the values that are not NaN."""
    aggregates = evaluation.scores.aggregates
    means = {name: average(values[~np.isnan(values)], aggregates.get(name, "mean")) for name, values in columns.items()}
    return {name: None if math.isnan(mean) else mean for name, mean in means.items()}
