"""Typed documents: every JSON document that karat prints or writes, and the JSON Schema that describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from karat.schema._ablation import AblatedMeasure, AblatedPart, AblationDocument, PartVerdict
    from karat.schema._baseline import BaselineRebase, BaselineSummary, RebasedQuestion, RebasedValue
    from karat.schema._checks import CheckRow, MeasureComparison, MeasureRow, Outcome, Status
    from karat.schema._comparison import (
        ComparedMeasure,
        ComparedPair,
        ComparedRun,
        ComparisonDocument,
        DifferenceBounds,
        ListComparison,
        ListSummary,
        MovedQuery,
        QueryComparison,
        QueryValues,
    )
    from karat.schema._decision import (
        DECISION_FORMAT,
        BaselineFacts,
        DecisionDocument,
        GoldenErrors,
        GoldenFacts,
        Histogram,
        LatencyFacts,
        MoverRow,
        Recommendation,
        RunFacts,
        SegmentRow,
        StageTimes,
        Verdict,
        VerdictFailure,
    )
    from karat.schema._encoding import is_plain, pack_json, to_ascii, to_json
    from karat.schema._evaluation import (
        EvaluatedRun,
        EvaluationReport,
        FailedQuestion,
        QueryCounts,
        QueryFacts,
        SuccessRates,
        ValueSpread,
    )
    from karat.schema._experiment import (
        ExperimentDiff,
        ExperimentEntry,
        ExperimentLog,
        ResultDifference,
        SweepEntry,
        SweepTests,
        ValueDifference,
    )
    from karat.schema._explain import (
        CauseFinding,
        CauseGroup,
        DocumentStanding,
        ExpectedPassage,
        ExplainDocument,
        ExplainedQuery,
        StageMove,
        StagePlace,
        StandingState,
        WhatIf,
    )
    from karat.schema._export import ExportedExperiment, ExportedRecord, ExportedRun, ExportReport
    from karat.schema._floor import FloorRatio, LexicalFloor
    from karat.schema._golden import (
        AnnotatorAgreement,
        AnnotatorKappa,
        Bump,
        Bytes,
        DisputedPair,
        GoldenCeiling,
        GoldenChange,
        GoldenConversion,
        GoldenDecision,
        GoldenDetectable,
        GoldenDiff,
        GoldenFinding,
        GoldenFloors,
        GoldenMerge,
        GoldenOutline,
        GoldenPairs,
        GoldenPool,
        GoldenReport,
        GoldenResolution,
        GoldenRule,
        GoldenSample,
        GoldenSetting,
        GoldenSynthesis,
        GoldenTag,
        GradedPair,
        OutlineBlock,
        OutlineSection,
        RegradedPair,
        Severity,
    )
    from karat.schema._opinion import (
        JudgedMeasure,
        JudgeFinding,
        JudgeReport,
        JudgeSpending,
        OpinionDocument,
        OpinionHeader,
    )
    from karat.schema._policy import (
        AcceptanceReport,
        PolicyDocument,
        PolicyOperations,
        PolicyRule,
        PolicyTolerance,
        ProposedFloor,
        RuleProposal,
    )
    from karat.schema._power import GatePower, GateRate, PowerPlan, PowerRow
    from karat.schema._publish import json_schema
    from karat.schema._published import DOCUMENTS
    from karat.schema._queries import FIELDS, ExpectedRow, HitRow, LeftRow, Passage, QueryFailure, QueryRow
    from karat.schema._read import Document, Mismatch, from_plain, to_plain
    from karat.schema._runs import (
        LostPart,
        PrunedRun,
        RunConversion,
        RunDetails,
        RunListing,
        RunPruning,
        SavedRun,
        ShownDocument,
        ShownHit,
        ShownQuery,
    )
    from karat.schema._scores import MeasureBounds, MeasureScore, RepeatedHits, RunScores, ScoreReport, SegmentScores
    from karat.schema._sweep import (
        ObjectiveChange,
        PlannedVariant,
        SweepBaseline,
        SweepCorrection,
        SweepPlan,
        SweepReference,
        SweepReport,
        VariantResult,
    )
    from karat.schema._systems import SystemKind, SystemListing
    from karat.schema._trace import (
        FARTHEST,
        LONGEST,
        TRACE_FORMAT,
        Milliseconds,
        RunHeader,
        TraceCitation,
        TraceContext,
        TraceDocument,
        TraceHit,
        TraceStage,
    )
    from karat.schema._trend import TrendHistory, TrendOtherRun, TrendReport, TrendRun, TrendSetChange, TrendSkippedFile
    from karat.schema._types import SystemChange

__all__ = [
    "DECISION_FORMAT",
    "DOCUMENTS",
    "FARTHEST",
    "FIELDS",
    "LONGEST",
    "TRACE_FORMAT",
    "AblatedMeasure",
    "AblatedPart",
    "AblationDocument",
    "AcceptanceReport",
    "AnnotatorAgreement",
    "AnnotatorKappa",
    "BaselineFacts",
    "BaselineRebase",
    "BaselineSummary",
    "Bump",
    "Bytes",
    "CauseFinding",
    "CauseGroup",
    "CheckRow",
    "ComparedMeasure",
    "ComparedPair",
    "ComparedRun",
    "ComparisonDocument",
    "DecisionDocument",
    "DifferenceBounds",
    "DisputedPair",
    "Document",
    "DocumentStanding",
    "EvaluatedRun",
    "EvaluationReport",
    "ExpectedPassage",
    "ExpectedRow",
    "ExperimentDiff",
    "ExperimentEntry",
    "ExperimentLog",
    "ExplainDocument",
    "ExplainedQuery",
    "ExportReport",
    "ExportedExperiment",
    "ExportedRecord",
    "ExportedRun",
    "FailedQuestion",
    "FloorRatio",
    "GatePower",
    "GateRate",
    "GoldenCeiling",
    "GoldenChange",
    "GoldenConversion",
    "GoldenDecision",
    "GoldenDetectable",
    "GoldenDiff",
    "GoldenErrors",
    "GoldenFacts",
    "GoldenFinding",
    "GoldenFloors",
    "GoldenMerge",
    "GoldenOutline",
    "GoldenPairs",
    "GoldenPool",
    "GoldenReport",
    "GoldenResolution",
    "GoldenRule",
    "GoldenSample",
    "GoldenSetting",
    "GoldenSynthesis",
    "GoldenTag",
    "GradedPair",
    "Histogram",
    "HitRow",
    "JudgeFinding",
    "JudgeReport",
    "JudgeSpending",
    "JudgedMeasure",
    "LatencyFacts",
    "LeftRow",
    "LexicalFloor",
    "ListComparison",
    "ListSummary",
    "LostPart",
    "MeasureBounds",
    "MeasureComparison",
    "MeasureRow",
    "MeasureScore",
    "Milliseconds",
    "Mismatch",
    "MovedQuery",
    "MoverRow",
    "ObjectiveChange",
    "OpinionDocument",
    "OpinionHeader",
    "Outcome",
    "OutlineBlock",
    "OutlineSection",
    "PartVerdict",
    "Passage",
    "PlannedVariant",
    "PolicyDocument",
    "PolicyOperations",
    "PolicyRule",
    "PolicyTolerance",
    "PowerPlan",
    "PowerRow",
    "ProposedFloor",
    "PrunedRun",
    "QueryComparison",
    "QueryCounts",
    "QueryFacts",
    "QueryFailure",
    "QueryRow",
    "QueryValues",
    "RebasedQuestion",
    "RebasedValue",
    "Recommendation",
    "RegradedPair",
    "RepeatedHits",
    "ResultDifference",
    "RuleProposal",
    "RunConversion",
    "RunDetails",
    "RunFacts",
    "RunHeader",
    "RunListing",
    "RunPruning",
    "RunScores",
    "SavedRun",
    "ScoreReport",
    "SegmentRow",
    "SegmentScores",
    "Severity",
    "ShownDocument",
    "ShownHit",
    "ShownQuery",
    "StageMove",
    "StagePlace",
    "StageTimes",
    "StandingState",
    "Status",
    "SuccessRates",
    "SweepBaseline",
    "SweepCorrection",
    "SweepEntry",
    "SweepPlan",
    "SweepReference",
    "SweepReport",
    "SweepTests",
    "SystemChange",
    "SystemKind",
    "SystemListing",
    "TraceCitation",
    "TraceContext",
    "TraceDocument",
    "TraceHit",
    "TraceStage",
    "TrendHistory",
    "TrendOtherRun",
    "TrendReport",
    "TrendRun",
    "TrendSetChange",
    "TrendSkippedFile",
    "ValueDifference",
    "ValueSpread",
    "VariantResult",
    "Verdict",
    "VerdictFailure",
    "WhatIf",
    "from_plain",
    "is_plain",
    "json_schema",
    "pack_json",
    "to_ascii",
    "to_json",
    "to_plain",
]

# Loaded at first use: msgspec takes longer to import than `karat --help` may.
_MODULES = {
    "_ablation": "AblatedMeasure AblatedPart AblationDocument PartVerdict",
    "_floor": "FloorRatio LexicalFloor",
    "_explain": """CauseFinding CauseGroup DocumentStanding ExpectedPassage ExplainDocument ExplainedQuery
        StageMove StagePlace StandingState WhatIf""",
    "_baseline": "BaselineRebase BaselineSummary RebasedQuestion RebasedValue",
    "_checks": "CheckRow MeasureComparison MeasureRow Outcome Status",
    "_comparison": (
        "ComparedMeasure ComparedPair ComparedRun ComparisonDocument DifferenceBounds ListComparison "
        "ListSummary MovedQuery QueryComparison QueryValues"
    ),
    "_decision": (
        "BaselineFacts DECISION_FORMAT DecisionDocument GoldenErrors GoldenFacts Histogram LatencyFacts "
        "MoverRow Recommendation RunFacts SegmentRow StageTimes Verdict VerdictFailure"
    ),
    "_encoding": "is_plain pack_json to_ascii to_json",
    "_evaluation": "EvaluatedRun EvaluationReport FailedQuestion QueryCounts QueryFacts SuccessRates ValueSpread",
    "_experiment": (
        "ExperimentDiff ExperimentEntry ExperimentLog ResultDifference SweepEntry SweepTests ValueDifference"
    ),
    "_export": "ExportReport ExportedExperiment ExportedRecord ExportedRun",
    "_golden": (
        "AnnotatorAgreement AnnotatorKappa Bump Bytes DisputedPair GoldenCeiling GoldenChange "
        "GoldenConversion GoldenDecision GoldenDetectable GoldenDiff GoldenFinding GoldenFloors GoldenMerge "
        "GoldenOutline GoldenPairs GoldenPool GoldenReport GoldenResolution GoldenRule GoldenSample "
        "GoldenSetting GoldenSynthesis GoldenTag GradedPair OutlineBlock OutlineSection RegradedPair Severity"
    ),
    "_opinion": ("JudgeFinding JudgeReport JudgeSpending JudgedMeasure OpinionDocument OpinionHeader"),
    "_policy": (
        "AcceptanceReport PolicyDocument PolicyOperations PolicyRule PolicyTolerance ProposedFloor RuleProposal"
    ),
    "_power": "GatePower GateRate PowerPlan PowerRow",
    "_publish": "json_schema",
    "_published": "DOCUMENTS",
    "_queries": "ExpectedRow FIELDS HitRow LeftRow Passage QueryFailure QueryRow",
    "_read": "Document Mismatch from_plain to_plain",
    "_runs": (
        "LostPart PrunedRun RunConversion RunDetails RunListing RunPruning SavedRun ShownDocument ShownHit ShownQuery"
    ),
    "_scores": "MeasureBounds MeasureScore RepeatedHits RunScores ScoreReport SegmentScores",
    "_sweep": (
        "ObjectiveChange PlannedVariant SweepBaseline SweepCorrection SweepPlan SweepReference SweepReport "
        "VariantResult"
    ),
    "_systems": "SystemKind SystemListing",
    "_trace": (
        "FARTHEST LONGEST Milliseconds RunHeader TRACE_FORMAT TraceCitation TraceContext TraceDocument TraceHit "
        "TraceStage"
    ),
    "_trend": "TrendHistory TrendOtherRun TrendReport TrendRun TrendSetChange TrendSkippedFile",
    "_types": "SystemChange",
}
"""The names of each module."""
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"karat.schema.{_HOME[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
