"""The JSON of watching live traffic: windows, alerts, canaries, and what is sent about them."""

from karat.schema.watch._canary import CanaryReport, CanaryRule, CanaryWindow
from karat.schema.watch._rollouts import OnlineAlert, OnlineFlag, OnlineTrial
from karat.schema.watch._watch import (
    AlertState,
    WatchAlert,
    WatchMessage,
    WatchReport,
    WatchState,
    WatchValue,
    WatchWindow,
)

__all__ = [
    "AlertState",
    "CanaryReport",
    "CanaryRule",
    "CanaryWindow",
    "OnlineAlert",
    "OnlineFlag",
    "OnlineTrial",
    "WatchAlert",
    "WatchMessage",
    "WatchReport",
    "WatchState",
    "WatchValue",
    "WatchWindow",
]
