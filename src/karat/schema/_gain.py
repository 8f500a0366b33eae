"""What ``karat gain --json`` prints: what documents would add to a system."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count, Rank, Score

NoveltyForm = Literal["mean", "max"]


class GainedMeasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure without and with new documents."""

    measure: str
    before: Annotated[Score, Meta(description="The mean without them.")]
    after: Annotated[Score, Meta(description="The mean with them, over the same queries.")]
    change: Score
    queries: Annotated[Count, Meta(description="Queries that have a value without and with them.")]


class GainedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A query that new documents help or hurt."""

    query: str
    change: Annotated[float, Meta(description="The weighted mean of the changes of its measures.")]


class Gain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a document, or all of them together, would add."""

    documents: tuple[str, ...]
    gain: Annotated[float, Meta(description="The weighted mean of the changes, plus the weighted novelty.")]
    measures: tuple[GainedMeasure, ...]
    novelty_mean: Annotated[Score, Meta(description="The mean over its chunks of 1 less the highest cosine.")]
    novelty_max: Annotated[Score, Meta(description="1 less the highest cosine of any chunk; null without vectors.")]
    chunks: Count
    shown: Annotated[Count, Meta(description="Queries that have it among their hits.")]
    helps: Annotated[tuple[GainedQuery, ...], Meta(description="Queries that get better, the most first.")]
    hurts: Annotated[tuple[GainedQuery, ...], Meta(description="Queries that get worse, the most first.")]


class GainDocument(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What new documents would add to the answers of a project's pipeline, each alone and all together."""

    project: str
    system: str
    queries: Count
    k: Rank
    weights: Annotated[dict[str, float], Meta(description="Of each measure.")]
    novelty_weight: float
    novelty_form: NoveltyForm
    documents: Annotated[tuple[Gain, ...], Meta(description="Each by itself, the most useful first.")]
    together: Gain
    notes: tuple[str, ...]
