"""Where each public name of the schemas is: a module is imported when one of its names is used."""

from __future__ import annotations

_MODULES = {
    "_ablation": "AblatedMeasure AblatedPart AblationDocument PartVerdict",
    "_gain": "Gain GainDocument GainedMeasure GainedQuery NoveltyForm",
    "_floor": "FloorRatio LexicalFloor",
    "_explain": """CauseFinding CauseGroup DocumentStanding ExpectedPassage ExplainDocument ExplainedQuery
        StageMove StagePlace StandingState WhatIf""",
    "_baseline": "BaselineRebase BaselineSummary RebasedQuestion RebasedValue",
    "_checks": "CheckRow MeasureComparison MeasureRow Outcome Status",
    "_comparison": """AnsweredChange AnsweredMean ComparedMeasure ComparedPair ComparedRun ComparisonDocument
        DifferenceBounds ListComparison ListSummary MovedQuery QueryComparison QueryValues""",
    "_decision": """BaselineFacts DECISION_FORMAT DecisionDocument GoldenErrors GoldenFacts Histogram LatencyFacts
        MoverRow Recommendation RunFacts SegmentRow StageTimes Verdict VerdictFailure""",
    "_encoding": "is_plain pack_json to_ascii to_json",
    "_evaluation": "EvaluatedRun EvaluationReport FailedQuestion QueryCounts QueryFacts SuccessRates ValueSpread",
    "_experiment": ("ExperimentDiff ExperimentLog ResultDifference SweepEntry SweepTests ValueDifference"),
    "_export": "ExportReport ExportedExperiment ExportedRecord ExportedRun",
    "_golden": """AnnotatorAgreement AnnotatorKappa Bump Bytes DisputedPair GoldenCeiling GoldenChange
        GoldenConversion GoldenDecision GoldenDetectable GoldenDiff GoldenFinding GoldenFloors GoldenMerge
        GoldenOutline GoldenPairs GoldenPool GoldenReport GoldenResolution GoldenRule GoldenSample
        GoldenSetting GoldenSynthesis GoldenTag GradedPair OutlineBlock OutlineSection RegradedPair Severity""",
    "_online": """OnlineAcknowledgement OnlineDamage OnlineExport OnlineForgetting OnlineHealth OnlineImport
        OnlineIngest OnlineJournal OnlineReceived OnlineRecorded OnlineRetention OnlineRun
        OnlineSegmentDamage OnlineTable""",
    "_labels": "LabelCorrection",
    "_opinion": ("JudgeFinding JudgeReport JudgeSpending JudgedMeasure OpinionDocument OpinionHeader"),
    "_policy": (
        "AcceptanceReport PolicyDocument PolicyOperations PolicyRule PolicyTolerance ProposedFloor RuleProposal"
    ),
    "_power": "GatePower GateRate PowerPlan PowerRow",
    "_publish": "json_schema",
    "_published": "DOCUMENTS",
    "_queries": "ExpectedRow FIELDS HitRow LeftRow Passage QueryFailure QueryRow",
    "_read": "Document Mismatch from_plain plain_value to_plain",
    "_runs": (
        "LostPart PrunedRun RunConversion RunDetails RunListing RunPruning SavedRun ShownDocument ShownHit ShownQuery"
    ),
    "_scores": "MeasureBounds MeasureScore RepeatedHits RunScores ScoreReport SegmentScores",
    "_sweep": """ObjectiveChange PlannedVariant SweepBaseline SweepCorrection SweepPlan SweepReference SweepReport
        VariantResult""",
    "_systems": "SystemKind SystemListing",
    "_toolbox": "FusionSummary MeasureDefinition MeasureListing MeasureParameter StartReport StartedFile",
    "_trace": """FARTHEST LONGEST Milliseconds RunHeader TRACE_FORMAT TraceCitation TraceContext TraceDocument TraceHit
        TraceStage""",
    "_trend": "TrendHistory TrendOtherRun TrendReport TrendRun TrendSetChange TrendSkippedFile",
    "_types": "SystemChange",
}
"""The names of each module."""
HOME = {name: module for module, names in _MODULES.items() for name in names.split()}
"""The module of each name."""
