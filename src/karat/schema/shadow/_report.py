"""What ``karat shadow report --json`` prints: what a treatment did beside its control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from karat.schema._types import Count

Share = Annotated[float, Meta(ge=0, le=1)]


class ShadowShare(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A share of shadow runs, with an interval that takes into account that runs of one session are alike."""

    name: str
    count: Count
    total: Count
    share: Annotated[Share | None, Meta(description="Null if there are none.")]
    low: Annotated[Share, Meta(description="The lower end of the 95 % interval.")]
    high: Share


class ShadowSimilarity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How alike the lists are, on average over the runs that were compared; null if there are none."""

    runs: Count
    rbo: Annotated[float | None, Meta(description="Extrapolated rank-biased overlap, p = 0.9.")]
    overlap: Annotated[float | None, Meta(description="Jaccard at k.")]
    tau: Annotated[float | None, Meta(description="Kendall's tau-b over the union.")]
    top_changed: ShadowShare


class ShadowLatency(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Milliseconds of the runs in which both systems answered."""

    n: Count
    control_p50: float
    control_p95: float
    treatment_p50: float
    treatment_p95: float
    ratio: Annotated[float | None, Meta(description="The treatment's p95 over the control's; null if that is 0.")]
    low: Annotated[float | None, Meta(description="The lower end of the ratio's 95 % interval; null below 20 units.")]
    high: float | None


class ShadowMover(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that the treatment shows higher, or lower, than the control does."""

    document: str
    movement: Annotated[
        float, Meta(description="The sum of 1/log2(rank + 1) in the treatment's lists less that in the control's.")
    ]
    up: Annotated[Count, Meta(description="The runs in which it is nearer to the top.")]
    down: Count
    entered: Annotated[Count, Meta(description="The runs in which only the treatment returns it.")]
    left: Annotated[Count, Meta(description="The runs in which only the control returns it.")]


class ShadowMeasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measure on the runs whose query is judged; a treatment that failed counts as one that returned nothing."""

    measure: str
    runs: Annotated[Count, Meta(description="The runs that have a value.")]
    units: Annotated[Count, Meta(description="The sessions, or queries without one, that they belong to.")]
    control: float | None
    treatment: float | None
    delta: float | None
    low: Annotated[float | None, Meta(description="The lower end of the 95 % interval; null below two units.")]
    high: float | None
    worst: Annotated[
        float | None, Meta(description="The least that the difference can be, whatever grades unjudged documents have.")
    ]
    best: float | None
    control_unjudged: Annotated[
        Share | None, Meta(description="The share of documents in the top k without a judgment.")
    ]
    treatment_unjudged: Share | None


class ShadowJudged(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What judgments say of the runs whose query is in a golden set."""

    golden: str
    runs: Annotated[Count, Meta(description="The runs whose query the set has, in the same words.")]
    failed: Annotated[Count, Meta(description="Those of them in which the treatment failed.")]
    measures: tuple[ShadowMeasure, ...]


class ShadowReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shadow runs of a feature."""

    store: str
    feature: str
    first: Annotated[str, Meta(description="When the first call was, in UTC; empty without runs.")]
    last: str
    runs: Count
    estimated: Annotated[Count, Meta(description="How many calls those stand for, if only some were sampled.")]
    units: Annotated[Count, Meta(description="The sessions, or queries without one.")]
    texts: Annotated[Count, Meta(description="The different texts that were asked.")]
    sources: Annotated[Mapping[str, int], Meta(description="The runs on live traffic and those of replays.")]
    systems: Annotated[tuple[tuple[str, str], ...], Meta(description="The pairs of control and treatment.")]
    statuses: Annotated[Mapping[str, int], Meta(description="What became of the calls, counted.")]
    classes: Annotated[tuple[ShadowShare, ...], Meta(description="How lists differ, as shares of all runs.")]
    similarity: ShadowSimilarity
    latency: ShadowLatency | None
    rising: Annotated[tuple[ShadowMover, ...], Meta(description="The documents that gain most.")]
    falling: tuple[ShadowMover, ...]
    judged: Annotated[ShadowJudged | None, Meta(description="Null without a golden set.")]
    notes: tuple[str, ...]
