"""The JSON of judges: what they are sent, and how far they can be trusted."""

from typing import TYPE_CHECKING

from karat.core import open_lazily

if TYPE_CHECKING:
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

# Imported at first use: a decision has a row of the last alone.
_HOME = {
    **dict.fromkeys(("BridgedMeasure", "BridgeReport", "MovedLimit"), "_bridge"),
    **dict.fromkeys(
        ("CalibrationBin", "CalibrationReport", "CorrectedEstimate", "JudgeEstimate", "LabelSample", "PeopleReport"),
        "_calibration",
    ),
    **dict.fromkeys(("FlakeClass", "FlakesReport", "FlakyQuery"), "_flakes"),
    "PoolJudging": "_pool",
    **dict.fromkeys(("PreferenceReport", "PreferredAnswer"), "_preference"),
    **dict.fromkeys(("JudgeRequest", "JudgeRequests"), "_requests"),
    "UncertaintyRow": "_uncertainty",
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
