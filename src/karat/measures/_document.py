"""Scores as one JSON document, which every other form of output is rendered from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from karat.core import InputError, Scores, shorten


def document(
    runs: Sequence[Scores], *, per_query: bool = False, by: str | None = None, groups: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Give ``{"runs": [...]}`` with plain numbers at full precision, and null where there is none.

    ``groups`` gives each query its value of the field ``by``; queries without one come under the empty string.

    >>> import karat
    >>> document([karat.score({"q": {"a": 1}}, {"q": {"a": 1}}, ["P@1"])])["runs"][0]["measures"]
    {'P@1': {'mean': 1.0, 'n': 1, 'total': 1, 'missing': {}}}
    """
    return {"runs": [_run(scores, per_query, by, groups or {}) for scores in runs]}


def _run(scores: Scores, per_query: bool, by: str | None, groups: Mapping[str, str]) -> dict[str, Any]:
    out: dict[str, Any] = {
        "name": scores.name,
        "measures": _measures(scores),
        "not_in_run": list(scores.not_in_run),
        "not_judged": scores.not_judged,
    }
    if by is not None:
        members: dict[str, list[str]] = {}
        for query in scores.queries:
            members.setdefault(groups.get(query, ""), []).append(query)
        out["by"] = {by: {value: {"measures": _measures(scores.select(members[value]))} for value in sorted(members)}}
    if per_query:
        out["queries"] = {row.pop("query_id"): row for row in scores.to_dicts()}
    return out


def _measures(scores: Scores) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for measure, mean in scores.mean().items():
        if math.isinf(mean):
            hint = "a grade is too large for its gain; give lower grades, or gains"
            raise InputError(f"{measure} of {shorten(scores.name)} is infinite", hint=hint)
        cell: dict[str, Any] = {
            "mean": None if math.isnan(mean) else mean,
            "n": scores.count(measure),
            "total": scores.total,
            "missing": scores.missing(measure),
        }
        if scores.aggregates.get(measure) == "sum":
            cell["sum"] = scores.sum(measure)
        if scores.definitions.get(measure, measure) != measure:
            cell["definition"] = scores.definitions[measure]
        out[measure] = cell
    return out
