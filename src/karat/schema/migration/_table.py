"""The lines of a migration table, and the former ids of blocks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

Share = Annotated[float, Meta(ge=0, le=1)]
MoveKind = Literal["shift", "split", "merge", "unmapped"]


class MappedPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new block that holds a part of an old one that was split."""

    new_block_id: str
    old_off: Annotated[Count, Meta(description="Where the part began in the old text, in bytes.")]
    new_off: Annotated[Count, Meta(description="Where it begins in the new text.")]
    new_end: Count
    share: Annotated[Share, Meta(description="The share of the old block that it holds.")]


class BlockMapping(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of a block."""

    old_block_id: str
    new_block_id: Annotated[
        str | None, Meta(description="The block that holds it now; the largest part of a split; null if unmapped.")
    ]
    move: MoveKind
    old_off: Annotated[Count, Meta(description="Where it began in the old text, in bytes.")]
    old_end: Count
    new_off: Annotated[
        Count | None, Meta(description="Where its text begins in the new one; null if split or unmapped.")
    ]
    new_end: Count | None
    new_parts: Annotated[tuple[MappedPart, ...], Meta(description="The parts of a split, in reading order.")] = ()
    runs: Annotated[
        tuple[tuple[Count, Count], ...],
        Meta(description="Where its bytes went, [old, new]: a run begins where something was put in or taken out."),
    ] = ()
    conf: Annotated[
        Share, Meta(description="The Jaccard index of shingles in the old and the new place; 1 for the same words.")
    ]
    coverage: Annotated[Share, Meta(description="The share of the old block that the new place holds.")]


class MigrationTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the blocks of a document went from one version to another: a line of a table."""

    doc_id: str
    from_version: str
    to_version: Annotated[str | None, Meta(description="Null if the document is gone.")]
    mappings: tuple[BlockMapping, ...]


class BlockHistory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A block of the new version with the ids that its text had before, for the metadata of an index."""

    doc_id: str
    id: str
    id_prev: tuple[str, ...]
