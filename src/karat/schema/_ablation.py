"""What ``karat ablate --json`` prints: what each part of a pipeline is worth."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._floor import FloorRatio
from karat.schema._types import Count, Rank, Score

PartVerdict = Literal[
    "CRITICAL", "important", "likely useful", "negligible", "likely redundant", "possibly harmful", "HARMFUL"
]


class AblatedMeasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure without a part of the pipeline, beside that of all of it."""

    measure: str
    full: Annotated[Score, Meta(description="The mean of the whole pipeline.")]
    without: Annotated[Score, Meta(description="The mean without the part.")]
    difference: Annotated[Score, Meta(description="Without the part, less the whole; over queries that both have.")]
    low: Annotated[Score, Meta(description="The lower end of the 95 % interval of the difference.")]
    high: Score
    p: Annotated[Score, Meta(description="Of the two-sided sign-flip test.")]
    p_corrected: Annotated[Score, Meta(description="Corrected for all parts and measures (Westfall and Young).")]
    p_sign: Annotated[Score, Meta(description="Of the exact two-sided sign test; null for fewer than five changes.")]
    better: Annotated[Count, Meta(description="Queries that are better without the part.")]
    worse: Annotated[Count, Meta(description="Queries that are worse without the part.")]
    verdict: PartVerdict


class AblatedPart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A channel or stage of the pipeline, and what it is worth."""

    part: str
    verdict: Annotated[PartVerdict, Meta(description="That of the first measure.")]
    measures: tuple[AblatedMeasure, ...]


class AblationDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each channel and stage of a pipeline is worth, and what words alone reach."""

    project: str
    system: str
    queries: Count
    k: Rank
    summary: str
    parts: Annotated[tuple[AblatedPart, ...], Meta(description="The most useful first.")]
    floor: tuple[FloorRatio, ...]
    note: str
