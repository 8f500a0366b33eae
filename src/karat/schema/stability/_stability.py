"""How answers differ from wording to wording, and from repeat to repeat."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from karat.schema._types import Count

LambdaState = Literal["convergent", "split", "divergent", "chaotic"]


class ValueStability(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The values of one query in its wordings, or in its repeats."""

    values: list[float | None]
    """One for each, averaged over the others; null where there is none."""
    worst: float
    mean: float
    spread: float
    """The difference between the largest and the smallest."""


class QueryStability(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One query in all of its wordings and repeats."""

    query: str
    answers: Count
    """How often it was asked, in all wordings and repeats."""
    state: LambdaState | None
    """Whether its answers converge; null if that is not known."""
    reason: str
    """Why there is no state."""
    wordings: dict[str, ValueStability]
    """By measure; without those of which it has no two values."""
    repeats: dict[str, ValueStability]


class StabilitySpread(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure over all queries that were asked in several wordings, or repeats."""

    queries: Count
    """How many have two values or more."""
    worst: float | None
    """The mean of the worst value of each query; null without queries."""
    mean: float | None
    spread: float | None
    """The mean of the spreads."""
    most: float | None
    """The largest spread."""


class MeasureStability(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure from wording to wording, and from repeat to repeat."""

    wordings: StabilitySpread
    repeats: StabilitySpread
    missing: dict[str, Count] | UnsetType = UNSET
    """How many queries have no value, by reason, such as that the measure is not for them."""


class StabilityReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat stability --json`` prints."""

    run: str
    queries: Count
    """How many were asked."""
    wordings: Count
    """The most wordings of a query."""
    repeats: Count
    measures: dict[str, MeasureStability]
    states: dict[LambdaState, Count]
    """How many queries have each state."""
    rows: list[QueryStability]
