"""The JSON of shadow runs: what was replayed, and what a treatment did beside its control."""

from karat.schema.shadow._replay import ShadowReplay
from karat.schema.shadow._report import (
    ShadowJudged,
    ShadowLatency,
    ShadowMeasure,
    ShadowMover,
    ShadowReport,
    ShadowShare,
    ShadowSimilarity,
)

__all__ = [
    "ShadowJudged",
    "ShadowLatency",
    "ShadowMeasure",
    "ShadowMover",
    "ShadowReplay",
    "ShadowReport",
    "ShadowShare",
    "ShadowSimilarity",
]
