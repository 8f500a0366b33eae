"""The published documents: each has a name and a type."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from karat.core import UsageError, did_you_mean

DOCUMENTS: Mapping[str, tuple[str, str]] = {
    "ablation": ("_ablation", "AblationDocument"),
    "acceptance": ("_policy", "AcceptanceReport"),
    "baseline": ("_baseline", "BaselineSummary"),
    "baseline-rebase": ("_baseline", "BaselineRebase"),
    "blocks": ("stability", "BlocksSummary"),
    "comparison": ("_comparison", "ComparisonDocument"),
    "decision": ("_decision", "DecisionDocument"),
    "evaluation": ("_evaluation", "EvaluationReport"),
    "experiment": ("_experiment", "ExperimentEntry"),
    "experiment-diff": ("_experiment", "ExperimentDiff"),
    "experiments": ("_experiment", "ExperimentLog"),
    "explain": ("_explain", "ExplainDocument"),
    "export": ("_export", "ExportReport"),
    "exported-experiment": ("_export", "ExportedExperiment"),
    "exported-run": ("_export", "ExportedRun"),
    "flag-change": ("trials", "FlagChangeRow"),
    "flag-history": ("trials", "FlagHistory"),
    "flags": ("trials", "FlagList"),
    "fusion": ("_toolbox", "FusionSummary"),
    "gain": ("_gain", "GainDocument"),
    "golden-check": ("_golden", "GoldenReport"),
    "golden-convert": ("_golden", "GoldenConversion"),
    "golden-decision": ("_golden", "GoldenDecision"),
    "golden-diff": ("_golden", "GoldenDiff"),
    "golden-errors": ("_decision", "GoldenErrors"),
    "golden-judge": ("judging", "PoolJudging"),
    "golden-merge": ("_golden", "GoldenMerge"),
    "golden-outline": ("_golden", "GoldenOutline"),
    "golden-pool": ("_golden", "GoldenPool"),
    "golden-rule": ("_golden", "GoldenRule"),
    "golden-sample": ("_golden", "GoldenSample"),
    "golden-synth": ("_golden", "GoldenSynthesis"),
    "golden-tag": ("_golden", "GoldenTag"),
    "harvest": ("feedback", "HarvestReport"),
    "harvested-pair": ("feedback", "BehaviourRow"),
    "judge": ("_opinion", "JudgeReport"),
    "judge-bridge": ("judging", "BridgeReport"),
    "judge-calibration": ("judging", "CalibrationReport"),
    "judge-flakes": ("judging", "FlakesReport"),
    "judge-preference": ("judging", "PreferenceReport"),
    "judge-requests": ("judging", "JudgeRequests"),
    "judge-sample": ("judging", "LabelSample"),
    "measures": ("_toolbox", "MeasureListing"),
    "migration": ("migration", "MigrationReport"),
    "migration-history": ("migration", "BlockHistory"),
    "migration-judgments": ("migration", "CarriedJudgments"),
    "migration-rollout": ("migration", "RolloutReport"),
    "migration-table": ("migration", "MigrationTable"),
    "online-acknowledgement": ("_online", "OnlineAcknowledgement"),
    "online-canary": ("watch", "CanaryReport"),
    "online-export": ("_online", "OnlineExport"),
    "online-forgetting": ("_online", "OnlineForgetting"),
    "online-health": ("_online", "OnlineHealth"),
    "online-import": ("_online", "OnlineImport"),
    "online-ingest": ("_online", "OnlineIngest"),
    "online-received": ("_online", "OnlineReceived"),
    "online-recorded": ("_online", "OnlineRecorded"),
    "online-report": ("feedback", "OnlineReport"),
    "online-retention": ("_online", "OnlineRetention"),
    "online-watch": ("watch", "WatchReport"),
    "online-watch-message": ("watch", "WatchMessage"),
    "opinion": ("_opinion", "OpinionDocument"),
    "opinion-header": ("_opinion", "OpinionHeader"),
    "policy": ("_policy", "PolicyDocument"),
    "power": ("_power", "PowerPlan"),
    "query": ("_runs", "ShownQuery"),
    "run": ("_runs", "RunDetails"),
    "run-header": ("_trace", "RunHeader"),
    "runs": ("_runs", "RunListing"),
    "runs-converted": ("_runs", "RunConversion"),
    "runs-pruned": ("_runs", "RunPruning"),
    "scores": ("_scores", "ScoreReport"),
    "session": ("feedback", "SessionSummary"),
    "shadow-replay": ("shadow", "ShadowReplay"),
    "shadow-report": ("shadow", "ShadowReport"),
    "stability": ("stability", "StabilityReport"),
    "start": ("_toolbox", "StartReport"),
    "store-check": ("store", "StoreCheck"),
    "store-copy": ("store", "StoreCopy"),
    "store-migration": ("store", "StoreMigration"),
    "sweep": ("_sweep", "SweepReport"),
    "sweep-entry": ("_experiment", "SweepEntry"),
    "sweep-plan": ("_sweep", "SweepPlan"),
    "systems": ("_systems", "SystemListing"),
    "trace": ("_trace", "TraceDocument"),
    "trial": ("trials", "TrialStatus"),
    "trial-collected": ("trials", "TrialCollected"),
    "trial-forecast": ("trials", "TrialForecast"),
    "trial-holdout": ("trials", "TrialHoldout"),
    "trial-observations": ("trials", "TrialObservations"),
    "trial-outcome": ("trials", "TrialOutcome"),
    "trial-recorded": ("trials", "TrialRecorded"),
    "trial-report": ("trials", "TrialReport"),
    "trial-transition": ("trials", "TrialTransition"),
    "trials": ("trials", "TrialList"),
    "trend": ("_trend", "TrendReport"),
}
"""The module and the class of each published document, by the document's name."""


def document_type(name: str) -> Any:
    """Return the type of a published document.

    >>> document_type("power").__name__
    'PowerPlan'
    """
    if name not in DOCUMENTS:
        others = did_you_mean(name, DOCUMENTS) or f"; there are {', '.join(DOCUMENTS)}"
        raise UsageError(f"no document is called {name!r}{others}")
    module, class_name = DOCUMENTS[name]
    return getattr(import_module(f"karat.schema.{module}"), class_name)
