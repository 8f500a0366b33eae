"""The segments of a decision document: the means of parts of the queries, beside those of the baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import UNSET

from karat.core import GoldenSet
from karat.evaluation import Evaluation, segment_queries
from karat.gate import pair_scores
from karat.schema import SegmentRow


def segment_rows(golden: GoldenSet, candidate: Evaluation, before: Evaluation | None) -> tuple[SegmentRow, ...]:
    """Return the means of every segment; those beside the baseline's are over the queries that both have."""
    names = candidate.scores.measures
    of_both = {name: pair_scores(candidate, before, name) if before else {} for name in names}
    rows = []
    for (field, value), queries in (candidate.segments or segment_queries(golden)).items():
        shared = {name: [query for query in queries if query in of_both[name]] for name in names}
        means = {name: _number(candidate.mean(name, queries)) for name in names}
        compared = means if before is None else _means(candidate, shared)
        row = SegmentRow(
            field=field,
            value=value,
            queries=len(queries),
            ids=tuple(queries),
            means=means,
            baseline=None if before is None else _means(before, shared),
            compared=UNSET if compared == means else compared,
        )
        rows.append(row)
    return tuple(rows)


def _means(evaluation: Evaluation, queries: Mapping[str, Sequence[str]]) -> dict[str, float | None]:
    """Return the mean of each measure over its own queries."""
    return {name: _number(evaluation.mean(name, ids)) for name, ids in queries.items()}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
