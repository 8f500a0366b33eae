"""How the scores of two judges differ."""

from __future__ import annotations

from msgspec import Struct

from karat.schema._opinion import JudgeSpending
from karat.schema._types import Count
from karat.schema.judging._calibration import JudgeEstimate


class MovedLimit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A limit of the gate, and what it is for the new judge."""

    kind: str
    """min or max."""
    limit: float
    moved: JudgeEstimate


class BridgedMeasure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two judges differ in a measure."""

    judge: str
    measure: str
    scored: Count
    """Sampled queries that both have scored."""
    total: Count
    old_mean: float | None
    new_mean: float | None
    shift: JudgeEstimate
    """The mean of the new scores less the old ones, with its 95 % interval (t)."""
    baseline: float | None
    """The mean of the baseline, by the old judge; null if there is none."""
    moved: JudgeEstimate | None
    """What it would be by the new judge."""
    limits: list[MovedLimit]


class BridgeReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``karat judge bridge --json`` prints."""

    run: str
    old: str
    """The fingerprint of the old judge."""
    new: str
    sampled: Count
    queries: Count
    measures: list[BridgedMeasure]
    baseline: str | None
    output: str | None
    """The baseline that was written, with the new judge's scores of the sampled queries."""
    spending: list[JudgeSpending]
    """What the old judge took, and the new one."""
