"""The JSON of migrations: what became of blocks when an index was made anew, of citations, and of judgments."""

from karat.schema.migration._judgments import CarriedJudgments, CarriedTarget
from karat.schema.migration._report import MigratedDocument, MigrationCheck, MigrationReport, UnmappedBlock
from karat.schema.migration._rollout import CitationMismatch, RolloutReport
from karat.schema.migration._table import BlockHistory, BlockMapping, MappedPart, MigrationTable

__all__ = [
    "BlockHistory",
    "BlockMapping",
    "CarriedJudgments",
    "CarriedTarget",
    "CitationMismatch",
    "MappedPart",
    "MigratedDocument",
    "MigrationCheck",
    "MigrationReport",
    "MigrationTable",
    "RolloutReport",
    "UnmappedBlock",
]
