"""What ``karat migrate shadow --json`` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count
from karat.schema.migration._report import MigrationCheck, Share, Verdict


class CitationMismatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query for which the new index does not cite what the old one cites."""

    query: str
    lost: Annotated[tuple[str, ...], Meta(description="What only the old index cites, under its old ids.")]
    unmapped: Annotated[tuple[str, ...], Meta(description="Those of them that have no place in the new index.")]
    added: Annotated[tuple[str, ...], Meta(description="What only the new index cites.")]
    reason: Annotated[str, Meta(description="Why nothing could be compared; empty otherwise.")] = ""


class RolloutReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether an index that was asked in the shadow may get its first traffic."""

    control: str
    treatment: str
    compared: Annotated[str, Meta(description="citations, or hits down to a rank.")]
    queries: Count
    identical: Count
    mismatch: Annotated[Share | None, Meta(description="The share of queries that differ; null without queries.")]
    low: Annotated[Share, Meta(description="The lower end of the 95 % interval.")]
    high: Share
    cited: Annotated[Count, Meta(description="Different blocks that the old index cites.")]
    unmapped: Annotated[tuple[str, ...], Meta(description="Those of them that have no place in the new index.")]
    checks: tuple[MigrationCheck, ...]
    mismatches: tuple[CitationMismatch, ...]
    stage: Annotated[
        Literal["shadow", "canary"], Meta(description="canary if the next step may be taken, shadow if it may not.")
    ]
    canary_percent: Annotated[float, Meta(description="The share of traffic for the next step.")]
    verdict: Verdict
    notes: tuple[str, ...]
