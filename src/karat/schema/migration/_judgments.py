"""What ``karat migrate judgments --json`` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count


class CarriedTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A judgment of the old version, and where it stands in the new one."""

    query: str
    target: str
    grade: int
    outcome: Annotated[
        Literal["carried", "to judge", "lost"],
        Meta(description="carried: it says the same there; to judge: a person has to look; lost: it has no place."),
    ]
    now: Annotated[tuple[str, ...], Meta(description="The targets in the new version.")]
    reason: str


class CarriedJudgments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A golden set that follows its documents to a new version."""

    golden: str
    judgments: Count
    carried: Count
    to_judge: Annotated[Count, Meta(description="Judgments that a person has to look at again.")]
    rows: Annotated[Count, Meta(description="The rows to judge; a split block has one for each part.")]
    lost: Count
    hints: Annotated[Count, Meta(description="Anchors, hard negatives and first chunks of queries that were moved.")]
    lost_hints: Count
    changes: Annotated[tuple[CarriedTarget, ...], Meta(description="Every judgment that was not carried as it was.")]
    notes: tuple[str, ...]
