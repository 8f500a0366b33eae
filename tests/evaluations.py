"""Evaluations without a system: scores as a test wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from karat.core import Provenance, Scores
from karat.evaluation import Evaluation

Values = Mapping[str, Mapping[str, float | Sequence[float]]]
"""By measure and query: a value, or one for each repeat."""
_PROVENANCE = {field.name for field in fields(Provenance)}


def make_evaluation(name: str = "run", *, values: Values | None = None, **more: Any) -> Evaluation:
    """An evaluation with these values; fields of its provenance (golden, system, settings ...) may be given, too."""
    repeats = {
        measure: {query: _repeats(value) for query, value in column.items()}
        for measure, column in (values or {}).items()
    }
    definitions = more.pop("definitions", {})
    count = max((len(value) for column in repeats.values() for value in column.values()), default=0)
    tables = tuple(
        Scores.from_columns(name, _column_of(repeats, i, count), definitions=definitions)
        for i in range(count if count > 1 else 0)
    )
    scores = Scores.from_columns(
        name,
        {measure: {query: mean(value) for query, value in column.items()} for measure, column in repeats.items()},
        queries=more.get("queries", ()) if values else (),
        definitions=definitions,
    )
    provenance = {key: more.pop(key) for key in _PROVENANCE & more.keys()}
    return Evaluation(
        provenance=Provenance(name=name, **provenance),
        **{"scores": scores, "repeats": tables, "means": scores.mean() if values else {}, "queries": scores.queries}
        | more,
    )


def change(evaluation: Evaluation, **more: Any) -> Evaluation:
    """The same evaluation with other fields, or with another provenance."""
    provenance = replace(evaluation.provenance, **{key: more.pop(key) for key in _PROVENANCE & more.keys()})
    return replace(evaluation, provenance=provenance, **more)


def _column_of(repeats: Mapping[str, Mapping[str, tuple[float, ...]]], i: int, count: int) -> dict[str, Any]:
    return {
        measure: {query: value[i] for query, value in column.items() if len(value) == count}
        for measure, column in repeats.items()
    }


def _repeats(value: float | Sequence[float]) -> tuple[float, ...]:
    return (float(value),) if isinstance(value, int | float) else tuple(map(float, value))


def mean(column: Sequence[float]) -> float:
    """The mean of those that are numbers."""
    numbers = [value for value in column if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan
