"""What ``karat online estimate --json`` prints: how attractive documents are, by what people read."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from karat.schema._types import Count

ClickEstimator = Literal["coec", "ctr", "ips", "sdbn", "snips"]
Least = Annotated[float, Meta(ge=0)]


class ClickEstimate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How attractive a document is to those who ask a query."""

    query: Annotated[str, Meta(description="The text without case, punctuation and articles.")]
    document: str
    shown: Annotated[
        Count,
        Meta(
            description="How many impressions count, at most one for each session: of sdbn those at or above the last "
            "click, of ips and snips those at ranks of which it is known how many people look."
        ),
    ]
    clicks: Annotated[Count, Meta(description="How many of these were read.")]
    value: Annotated[Least | None, Meta(description="Null if too few impressions count.")]
    low: Annotated[Least, Meta(description="The lower end of the interval.")]
    high: Annotated[Least | None, Meta(description="Null if nothing bounds it from above.")]


class ClickReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How attractive the documents are that people were shown."""

    store: str
    estimator: ClickEstimator
    minimum: Annotated[Count, Meta(description="With fewer impressions a pair has no value.")]
    confidence: Annotated[float, Meta(gt=0, lt=1)]
    pairs: Annotated[Count, Meta(description="How many pairs of query and document were shown.")]
    estimated: Annotated[Count, Meta(description="How many of them have a value.")]
    shown: Count
    clicks: Count
    estimates: Annotated[
        tuple[ClickEstimate, ...], Meta(description="The pairs that were shown most, as many as were asked for.")
    ]
    notes: tuple[str, ...]
