"""Telemetry: what a run did, as spans, metrics and log records of OpenTelemetry.

Nothing is imported, and nothing costs anything, unless an OTLP endpoint is configured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.telemetry._destination import Destination, find_destination
from karat.telemetry._records import (
    AskedQuery,
    FinishedJudging,
    FinishedRun,
    JudgedAnswer,
    LiveQuery,
    ModelCall,
    Regression,
    make_seed,
)

if TYPE_CHECKING:
    from karat.telemetry._live import LiveSending
    from karat.telemetry._sending import Sending, send_judging, send_run

__all__ = [
    "AskedQuery",
    "Destination",
    "FinishedJudging",
    "FinishedRun",
    "JudgedAnswer",
    "LiveQuery",
    "LiveSending",
    "ModelCall",
    "Regression",
    "Sending",
    "find_destination",
    "make_seed",
    "send_judging",
    "send_run",
]

_HOME = {
    "LiveSending": "_live",
    **dict.fromkeys(("Sending", "send_judging", "send_run"), "_sending"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
