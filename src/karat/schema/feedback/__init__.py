"""The JSON of live traffic: what became of it, and what was harvested from it."""

from karat.schema.feedback._clicks import ClickEstimate, ClickEstimator, ClickReport
from karat.schema.feedback._harvest import BehaviourRow, HarvestGroup, HarvestReport
from karat.schema.feedback._report import (
    OnlineDay,
    OnlineDrift,
    OnlineIntent,
    OnlineLatency,
    OnlineQuery,
    OnlineRate,
    OnlineReport,
)
from karat.schema.feedback._session import SessionQuery, SessionSummary, SessionValidation

__all__ = [
    "BehaviourRow",
    "ClickEstimate",
    "ClickEstimator",
    "ClickReport",
    "HarvestGroup",
    "HarvestReport",
    "OnlineDay",
    "OnlineDrift",
    "OnlineIntent",
    "OnlineLatency",
    "OnlineQuery",
    "OnlineRate",
    "OnlineReport",
    "SessionQuery",
    "SessionSummary",
    "SessionValidation",
]
