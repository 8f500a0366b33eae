"""The JSON of judges: what they are sent, and how far they can be trusted."""

from karat.schema.judging._bridge import BridgedMeasure, BridgeReport, MovedLimit
from karat.schema.judging._calibration import (
    CalibrationBin,
    CalibrationReport,
    CorrectedEstimate,
    JudgeEstimate,
    LabelSample,
    PeopleReport,
)
from karat.schema.judging._flakes import FlakeClass, FlakesReport, FlakyQuery
from karat.schema.judging._pool import PoolJudging
from karat.schema.judging._preference import PreferenceReport, PreferredAnswer
from karat.schema.judging._requests import JudgeRequest, JudgeRequests
from karat.schema.judging._uncertainty import UncertaintyRow

__all__ = [
    "BridgeReport",
    "BridgedMeasure",
    "CalibrationBin",
    "CalibrationReport",
    "CorrectedEstimate",
    "FlakeClass",
    "FlakesReport",
    "FlakyQuery",
    "JudgeEstimate",
    "JudgeRequest",
    "JudgeRequests",
    "LabelSample",
    "MovedLimit",
    "PeopleReport",
    "PoolJudging",
    "PreferenceReport",
    "PreferredAnswer",
    "UncertaintyRow",
]
