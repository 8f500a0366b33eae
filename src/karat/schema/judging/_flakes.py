"""Queries whose scores change although nothing did."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

Share = Annotated[float, Meta(ge=0, le=1)]
FlakeClass = Literal["stable", "system", "judge", "both", "unknown"]


class FlakyQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query whose scores change."""

    query: str
    kind: FlakeClass
    """Who changes: the system, the judge, both, or unknown, where one vote does not tell."""
    spread: Share
    """The distance of the lowest and the highest score."""
    judge_spread: Share
    """The same among the votes on one answer."""
    answers: Count
    different: Count
    """How many of them have different words."""
    votes: Count
    scores: list[Share]
    """The score of each answer."""


class FlakesReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge flakes --json`` prints."""

    runs: list[str]
    judge: str
    fingerprint: str
    tolerance: Share
    """How far scores may differ without a query being flaky."""
    queries: Count
    counts: dict[str, Count]
    """How many queries are of which kind."""
    flaky: list[FlakyQuery]
    """The queries that are not stable, the greatest spread first."""
    notes: list[str]
