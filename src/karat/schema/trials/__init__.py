"""The JSON of features that are tried on live traffic: flags and trials with their history."""

from karat.schema.trials._flags import FlagChangeRow, FlagHistory, FlagList, FlagRow
from karat.schema.trials._trials import (
    HoldoutWeek,
    TrialCollected,
    TrialCondition,
    TrialForecast,
    TrialHoldout,
    TrialList,
    TrialLog,
    TrialMeasure,
    TrialObservations,
    TrialOutcome,
    TrialPoint,
    TrialReadOut,
    TrialRecorded,
    TrialReport,
    TrialStatus,
    TrialTransition,
)

__all__ = [
    "FlagChangeRow",
    "FlagHistory",
    "FlagList",
    "FlagRow",
    "HoldoutWeek",
    "TrialCollected",
    "TrialCondition",
    "TrialForecast",
    "TrialHoldout",
    "TrialList",
    "TrialLog",
    "TrialMeasure",
    "TrialObservations",
    "TrialOutcome",
    "TrialPoint",
    "TrialReadOut",
    "TrialRecorded",
    "TrialReport",
    "TrialStatus",
    "TrialTransition",
]
