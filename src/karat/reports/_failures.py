"""The queries that failed, each by a limit of its own, and those that moved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from karat.reports._words import gain, plain

BELOW = 0.3
"""A lower reciprocal rank is a failure where the policy names no limits: the first relevant hit is fourth or later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A query that failed, and why."""

    query: str
    reasons: tuple[str, ...]


def limits(document: Mapping[str, Any]) -> dict[str, float]:
    """Give the limits for a single query: those of the policy (``list_below``), or 0.3 for each reciprocal rank."""
    named = document["verdict"].get("list_below")
    if named:
        return dict(named)
    return {one["name"]: BELOW for one in document["measures"] if re.fullmatch(r"RR(\(.*\))?(@\d+)?", one["name"])}


def failures(document: Mapping[str, Any]) -> tuple[Failure, ...]:
    """Give the queries that got an error, found nothing relevant, missed what they must reach, or lie below a limit."""
    below = limits(document)
    missed: dict[str, list[str]] = {}
    for check in document["checks"]:
        if check.get("query") and check["outcome"] == "fail":
            missed.setdefault(check["query"], []).append(f"must pass: {plain(check['reason'], 200)}")
    found = []
    for query in document["queries"]:
        reasons = list(missed.get(query["id"], ()))
        if query["error"]:
            reasons.append(f"failed: {plain(query['error'], 200)}")
        elif query["unfound"]:
            reasons.append("nothing relevant was found")
        else:
            reasons += [
                f"{name} {value:.2f} is below {limit:g}"
                for name, limit in below.items()
                if (value := query["scores"].get(name)) is not None and value < limit
            ]
        if reasons:
            found.append(Failure(query=query["id"], reasons=tuple(reasons)))
    return tuple(found)


def moves(document: Mapping[str, Any], name: str) -> dict[str, float]:
    """Give how much better each query is than in the baseline on one measure, where it changed; the worst first."""
    measure: Mapping[str, Any] = next((one for one in document["measures"] if one["name"] == name), {})
    found = {
        query["id"]: change
        for query in document["queries"]
        if name in query["scores"] and name in query["baseline"]
        and abs(change := gain(measure, query["scores"][name] - query["baseline"][name])) > 1e-9
    }  # fmt: skip
    return dict(sorted(found.items(), key=lambda item: item[1]))
