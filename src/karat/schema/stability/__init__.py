"""The JSON of stability: how answers differ from wording to wording, and blocks' summary of a run."""

from karat.schema.stability._stability import (
    MeasureStability,
    QueryStability,
    StabilityReport,
    StabilitySpread,
    ValueStability,
)
from karat.schema.stability._summary import BlocksScores, BlocksSummary

__all__ = [
    "BlocksScores",
    "BlocksSummary",
    "MeasureStability",
    "QueryStability",
    "StabilityReport",
    "StabilitySpread",
    "ValueStability",
]
