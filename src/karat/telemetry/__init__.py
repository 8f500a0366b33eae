"""Telemetry: what a run did, as spans, metrics and log records of OpenTelemetry.

Nothing is imported, and nothing costs anything, unless an OTLP endpoint is configured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.telemetry._destination import Destination, find_destination
from karat.telemetry._records import AskedQuery, FinishedRun, Regression

if TYPE_CHECKING:
    from karat.telemetry._sending import Sending, send_run

__all__ = ["AskedQuery", "Destination", "FinishedRun", "Regression", "Sending", "find_destination", "send_run"]

_HOME = dict.fromkeys(("Sending", "send_run"), "_sending")

__getattr__ = open_lazily(__name__, _HOME)
