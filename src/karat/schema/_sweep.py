"""What ``karat sweep --json`` prints, with and without ``--dry-run``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from karat.schema._checks import CheckRow


class PlannedVariant(Struct, frozen=True, kw_only=True):
    """A variant that a sweep would try."""

    name: str
    config_changes: Mapping[str, Any]


class SweepPlan(Struct, frozen=True, kw_only=True):
    """The variants of a sweep file, none of them tried."""

    project: str
    base: Mapping[str, Any]
    variants: tuple[PlannedVariant, ...]


class ObjectiveChange(Struct, frozen=True, kw_only=True):
    """The objective beside the baseline's; the numbers are left out where there is nothing to compare."""

    measure: str
    required: bool
    """Whether a variant without a gain is rejected."""
    difference: float | UnsetType | None = UNSET
    low: float | UnsetType | None = UNSET
    high: float | UnsetType | None = UNSET
    p_gain: float | UnsetType | None = UNSET
    """Of the one-sided test for a gain; not corrected."""
    n: int | UnsetType = UNSET


class SweepReference(Struct, frozen=True, kw_only=True):
    """The baseline that the variants were held against."""

    name: str
    recorded: str
    fingerprint: str


class SweepBaseline(SweepReference, frozen=True, kw_only=True):
    """The baseline with its means and its latency."""

    results: Mapping[str, float | None]


class SweepCorrection(Struct, frozen=True, kw_only=True):
    """How p is corrected for the number of variants."""

    method: Literal["westfall-young", "holm"] = "westfall-young"
    variants: int
    not_counted: int
    """Variants of earlier sweeps against the same baseline."""


class VariantResult(Struct, frozen=True, kw_only=True):
    """A variant, what it scored, and whether it is accepted."""

    id: str
    """In the log of experiments."""
    name: str
    config_changes: Mapping[str, Any]
    verdict: Literal["ACCEPTED", "REJECTED"]
    reason: str
    error: str | None
    """Why there is no result."""
    results: Mapping[str, float | None]
    """Means by measure; ``latency.p95`` in milliseconds."""
    objective: ObjectiveChange
    p: float | None
    """The p-value of all that the variant has to show; null where nothing was tested, and ``untested`` says why."""
    p_corrected: float | None
    """The same, corrected for the number of variants."""
    untested: str | None
    """Why there is no p."""
    pareto: bool
    """Whether no other variant is at least as good in quality and latency, and better in one of them."""
    answered_before: bool
    """Whether an earlier run was used; then its latency was measured earlier too."""
    run: str | None
    checks: tuple[CheckRow, ...]


class SweepReport(Struct, frozen=True, kw_only=True):
    """A finished sweep."""

    sweep: str
    project: str
    base: Mapping[str, Any]
    policy: str
    alpha: float
    baseline: SweepBaseline | None
    objective: str
    require_gain: bool
    correction: SweepCorrection
    log: str
    variants: tuple[VariantResult, ...]
