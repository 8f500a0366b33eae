"""What ``karat migrate blocks --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

Verdict = Literal["pass", "fail", "inconclusive", "not measured"]
Share = Annotated[float, Meta(ge=0, le=1)]


class MigrationCheck(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A target of a migration, and what was measured."""

    name: Annotated[str, Meta(description="redirect coverage, offset drift, id collisions or identical citations.")]
    value: Annotated[float | None, Meta(description="Null if there is nothing to measure.")]
    target: Annotated[str, Meta(description="What is asked for, such as >= 0.995.")]
    n: Annotated[Count, Meta(description="How many blocks, probes, ids or queries were looked at.")]
    verdict: Verdict
    reason: Annotated[str, Meta(description="Why it is not passed; empty if it is.")] = ""


class MigratedDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that was changed or cut anew."""

    doc_id: str
    blocks: Count
    mapped: Count
    drift: Annotated[
        float | None, Meta(description="Mean drift of redirected bytes, as a share of the text; null if unknown.")
    ]


class UnmappedBlock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A block that is nowhere in the new version, and the best that was seen."""

    doc_id: str
    block: str
    text: Annotated[str, Meta(description="Its first words.")]
    score: Share
    coverage: Share
    reason: str


class MigrationReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the blocks of an index went."""

    before: str
    after: str
    documents: Annotated[Mapping[str, int], Meta(description="How many are same, changed, removed and added.")]
    blocks: Count
    moves: Annotated[Mapping[str, int], Meta(description="How many blocks each move has.")]
    confirmed: Annotated[Count, Meta(description="Unmapped blocks that a person confirmed to be gone; not counted.")]
    reused: Annotated[Count, Meta(description="Ids that exist in both versions and name different text.")]
    checks: tuple[MigrationCheck, ...]
    changed: Annotated[tuple[MigratedDocument, ...], Meta(description="The documents that changed, worst first.")]
    unmapped: tuple[UnmappedBlock, ...]
    verdict: Verdict
    notes: tuple[str, ...]
