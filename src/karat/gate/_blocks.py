"""Blocks' compact summary of a run: written from an evaluation, and read as a baseline that has means only."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from karat.core import InputError, Provenance, Scores
from karat.evaluation import Evaluation, cited_distances, empty_scores, list_tables
from karat.gate._baseline import Baseline
from karat.gate._unanswered import count_failures, count_refusals
from karat.measures import interpolate
from karat.schema import Mismatch, from_plain
from karat.schema.stability import BlocksScores, BlocksSummary

BLOCKS = ("P@5", "R@5", "CiteCoverage", "CiteAccuracy", "CiteDeltaS")
"""The measures of the summary."""
_MEANS = {"precision": "P@5", "recall": "R@5", "coverage": "CiteCoverage", "citation_accuracy": "CiteAccuracy"}
_QUANTILES = {"median": "delta_s.median", "p90": "delta_s.p90"}
_FAR = 0.60
_DIGITS = 10  # a mean of 0.2 is not 0.20000000000000004
_KEYS = frozenset({"P@5", "R@5", "coverage", "citation_accuracy", "bad_qids", "by_type"})


def summarise_blocks(evaluation: Evaluation) -> BlocksSummary:
    """Return the summary of a run that was scored with the measures of ``BLOCKS``, as the gate counts.

    A question that failed or was refused counts as the worst value. One is bad if any answer to it cites nothing
    relevant, or something farther from it than 0.60, or if that cannot be measured.
    """
    counted = count_refusals(count_failures(evaluation))
    types = {value: queries for (field, value), queries in evaluation.segments.items() if field == "block"}
    return BlocksSummary(
        **_list_numbers(counted, None),
        bad_qids=_find_bad(counted),
        by_type={name: BlocksScores(**_list_numbers(counted, queries)) for name, queries in types.items()},
    )


def _list_numbers(evaluation: Evaluation, queries: Collection[str] | None) -> dict[str, float | None]:
    distances = cited_distances(evaluation, queries)
    return {
        **{field: _replace_nan(evaluation.mean(measure, queries)) for field, measure in _MEANS.items()},
        "median": _replace_nan(interpolate(distances, 0.5)) if distances else None,
        "p90": _replace_nan(interpolate(distances, 0.9)) if distances else None,
    }


def _replace_nan(value: float) -> float | None:
    return None if math.isnan(value) else round(value, _DIGITS)


def _find_bad(evaluation: Evaluation) -> list[str]:
    """Return the questions of which not every answer is known to be good."""
    tables, rest = list_tables(evaluation, "CiteDeltaS"), evaluation.unanswerable | evaluation.unjudged
    return [query for query in evaluation.queries if query not in rest and not _is_good(tables, query)]


def _is_good(tables: Sequence[Scores], query: str) -> bool:
    own = [table for table in tables if query in table.rows]
    covered = [table.value(query, "CiteCoverage") for table in own]
    distances = [table.value(query, "CiteDeltaS") for table in own]
    return bool(own) and all(covered) and all(distance is not None and distance <= _FAR for distance in distances)


def is_summary(record: object) -> bool:
    """Return whether a JSON value is a summary of blocks; a damaged one is reported by :func:`read_summary`."""
    return isinstance(record, dict) and record.keys() >= _KEYS


def read_summary(record: Mapping[str, Any], source: str) -> Baseline:
    """Return the baseline in a summary: means, and quantiles of delta-S."""
    try:
        summary = from_plain({**record, "by_type": {}}, BlocksSummary)  # whose shape blocks leaves open
    except Mismatch as error:
        raise InputError(f"is a damaged summary of blocks: {error}", source=source) from None
    numbers = {name: getattr(summary, field) for field, name in {**_MEANS, **_QUANTILES}.items()}
    means = {name: number for name, number in numbers.items() if number is not None}
    evaluation = Evaluation(provenance=Provenance(name="blocks"), scores=empty_scores("blocks"), means=means)
    return Baseline(evaluation=evaluation)
