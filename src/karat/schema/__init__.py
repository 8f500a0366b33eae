"""Typed documents: every JSON document that karat prints or writes, and the JSON Schema that describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.schema._decision import (
        DECISION_FORMAT,
        BaselineFacts,
        CheckRow,
        DecisionDocument,
        GoldenErrors,
        GoldenFacts,
        Histogram,
        LatencyFacts,
        MeasureComparison,
        MeasureRow,
        MoverRow,
        Recommendation,
        RunFacts,
        SegmentRow,
        SettingChange,
        StageTimes,
        Verdict,
        VerdictFailure,
    )
    from karat.schema._publish import json_schema
    from karat.schema._queries import ExpectedRow, HitRow, LeftRow, Passage, QueryFailure, QueryRow
    from karat.schema._read import Mismatch, from_plain, to_plain

__all__ = [
    "DECISION_FORMAT",
    "BaselineFacts",
    "CheckRow",
    "DecisionDocument",
    "ExpectedRow",
    "GoldenErrors",
    "GoldenFacts",
    "Histogram",
    "HitRow",
    "LatencyFacts",
    "LeftRow",
    "MeasureComparison",
    "MeasureRow",
    "Mismatch",
    "MoverRow",
    "Passage",
    "QueryFailure",
    "QueryRow",
    "Recommendation",
    "RunFacts",
    "SegmentRow",
    "SettingChange",
    "StageTimes",
    "Verdict",
    "VerdictFailure",
    "from_plain",
    "json_schema",
    "to_plain",
]

# Loaded at first use: a command pays only for the documents that it reads or writes.
_HOME = {
    **dict.fromkeys(
        (
            "DECISION_FORMAT",
            "BaselineFacts",
            "CheckRow",
            "DecisionDocument",
            "GoldenErrors",
            "GoldenFacts",
            "Histogram",
            "LatencyFacts",
            "MeasureComparison",
            "MeasureRow",
            "MoverRow",
            "Recommendation",
            "RunFacts",
            "SegmentRow",
            "SettingChange",
            "StageTimes",
            "Verdict",
            "VerdictFailure",
        ),
        "_decision",
    ),
    "json_schema": "_publish",
    **dict.fromkeys(("ExpectedRow", "HitRow", "LeftRow", "Passage", "QueryFailure", "QueryRow"), "_queries"),
    **dict.fromkeys(("Mismatch", "from_plain", "to_plain"), "_read"),
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.schema.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
