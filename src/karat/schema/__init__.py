"""Every JSON document that karat prints or writes: a type for each, and its published JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.schema._comparison import (
        ComparedPair,
        ComparedRun,
        Comparison,
        ListComparison,
        ListSummary,
        MeasureComparison,
        MovedQuery,
        QueryComparison,
        QueryValues,
        SystemChange,
    )
    from karat.schema._encoding import to_json, to_plain
    from karat.schema._experiment import (
        ExperimentDiff,
        ExperimentEntry,
        ExperimentLog,
        ResultDifference,
        SweepEntry,
        SweepTests,
        ValueDifference,
    )
    from karat.schema._export import ExportedExperiment, ExportedRecord, ExportedRun, ExportReport
    from karat.schema._power import PowerPlan, PowerRow
    from karat.schema._published import DOCUMENTS, json_schema
    from karat.schema._sweep import (
        CheckResult,
        ObjectiveChange,
        PlannedVariant,
        SweepBaseline,
        SweepCorrection,
        SweepPlan,
        SweepReference,
        SweepReport,
        VariantResult,
    )
    from karat.schema._trend import TrendHistory, TrendOtherRun, TrendReport, TrendRun, TrendSkippedFile

__all__ = [
    "DOCUMENTS",
    "CheckResult",
    "ComparedPair",
    "ComparedRun",
    "Comparison",
    "ExperimentDiff",
    "ExperimentEntry",
    "ExperimentLog",
    "ExportReport",
    "ExportedExperiment",
    "ExportedRecord",
    "ExportedRun",
    "ListComparison",
    "ListSummary",
    "MeasureComparison",
    "MovedQuery",
    "ObjectiveChange",
    "PlannedVariant",
    "PowerPlan",
    "PowerRow",
    "QueryComparison",
    "QueryValues",
    "ResultDifference",
    "SweepBaseline",
    "SweepCorrection",
    "SweepEntry",
    "SweepPlan",
    "SweepReference",
    "SweepReport",
    "SweepTests",
    "SystemChange",
    "TrendHistory",
    "TrendOtherRun",
    "TrendReport",
    "TrendRun",
    "TrendSkippedFile",
    "ValueDifference",
    "VariantResult",
    "json_schema",
    "to_json",
    "to_plain",
]

# Loaded at first use: `karat --help` does without msgspec.
_HOME = {
    "DOCUMENTS": "_published",
    "CheckResult": "_sweep",
    "ComparedPair": "_comparison",
    "ComparedRun": "_comparison",
    "Comparison": "_comparison",
    "ExperimentDiff": "_experiment",
    "ExperimentEntry": "_experiment",
    "ExperimentLog": "_experiment",
    "ExportReport": "_export",
    "ExportedExperiment": "_export",
    "ExportedRecord": "_export",
    "ExportedRun": "_export",
    "ListComparison": "_comparison",
    "ListSummary": "_comparison",
    "MeasureComparison": "_comparison",
    "MovedQuery": "_comparison",
    "ObjectiveChange": "_sweep",
    "PlannedVariant": "_sweep",
    "PowerPlan": "_power",
    "PowerRow": "_power",
    "QueryComparison": "_comparison",
    "QueryValues": "_comparison",
    "ResultDifference": "_experiment",
    "SweepBaseline": "_sweep",
    "SweepCorrection": "_sweep",
    "SweepEntry": "_experiment",
    "SweepPlan": "_sweep",
    "SweepReference": "_sweep",
    "SweepReport": "_sweep",
    "SweepTests": "_experiment",
    "SystemChange": "_comparison",
    "TrendHistory": "_trend",
    "TrendOtherRun": "_trend",
    "TrendReport": "_trend",
    "TrendRun": "_trend",
    "TrendSkippedFile": "_trend",
    "ValueDifference": "_experiment",
    "VariantResult": "_sweep",
    "json_schema": "_published",
    "to_json": "_encoding",
    "to_plain": "_encoding",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.schema.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
