"""Live traffic: a log of queries and of what people did with what came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.core import open_lazily
from karat.online._asked import Asked
from karat.online._emitting import Emit, current_trace, emitting
from karat.online._homes import IDLE_SECONDS, name_session
from karat.online._ingest import Ingested, ingest
from karat.online._log import Log
from karat.online._opening import open  # noqa: A004 (karat.online.open reads as it should)
from karat.online._paths import has_log
from karat.online._privacy import Redaction
from karat.online._records import (
    EVENT_KINDS,
    IMPRESSION,
    RE_SEARCH,
    READ_AFTER_SEARCH,
    REFERENCE,
    SCROLL_PAST,
    TASK_OUTCOME,
    VALIDATE_NOT_USEFUL,
    VALIDATE_USEFUL,
    LoggedEvent,
    LoggedHit,
    LoggedQuery,
    Reader,
    Record,
    is_outcome,
)
from karat.online._stored import LogReader, read_log
from karat.online._totals import Totals

if TYPE_CHECKING:
    from karat.online import flags as flags
    from karat.online import interleaving as interleaving
    from karat.online import openfeature as openfeature
    from karat.online import shadow as shadow
    from karat.online import trials as trials
    from karat.online._acknowledging import acknowledge_drops
    from karat.online._exchange import export_log, import_ubi
    from karat.online._export_folder import ExportFiles, find_files, is_export
    from karat.online._follow import follow
    from karat.online._forget import forget
    from karat.online._health import check_health, describe_missing
    from karat.online._keeping import check_store, copy_store, migrate_store
    from karat.online._middleware import LogMiddleware
    from karat.online._parquet import HIT_TYPE
    from karat.online._retention import Retention, expire
    from karat.online._runs import RunKind, record_report, record_run

__all__ = [
    "EVENT_KINDS",
    "HIT_TYPE",
    "IDLE_SECONDS",
    "IMPRESSION",
    "READ_AFTER_SEARCH",
    "REFERENCE",
    "RE_SEARCH",
    "SCROLL_PAST",
    "TASK_OUTCOME",
    "VALIDATE_NOT_USEFUL",
    "VALIDATE_USEFUL",
    "Asked",
    "Emit",
    "ExportFiles",
    "Ingested",
    "Log",
    "LogMiddleware",
    "LogReader",
    "LoggedEvent",
    "LoggedHit",
    "LoggedQuery",
    "Reader",
    "Record",
    "Redaction",
    "Retention",
    "RunKind",
    "Totals",
    "acknowledge_drops",
    "check_health",
    "check_store",
    "copy_store",
    "current_trace",
    "describe_missing",
    "emitting",
    "expire",
    "export_log",
    "find_files",
    "follow",
    "forget",
    "has_log",
    "import_ubi",
    "ingest",
    "is_export",
    "is_outcome",
    "migrate_store",
    "name_session",
    "open",
    "read_log",
    "record_report",
    "record_run",
]

# Imported on first use: a host that only logs needs none of it.
_HOME = {
    "acknowledge_drops": "_acknowledging",
    **dict.fromkeys(("export_log", "import_ubi"), "_exchange"),
    **dict.fromkeys(("ExportFiles", "find_files", "is_export"), "_export_folder"),
    "follow": "_follow",
    "forget": "_forget",
    **dict.fromkeys(("check_health", "describe_missing"), "_health"),
    **dict.fromkeys(("check_store", "copy_store", "migrate_store"), "_keeping"),
    "LogMiddleware": "_middleware",
    "HIT_TYPE": "_parquet",
    **dict.fromkeys(("Retention", "expire"), "_retention"),
    **dict.fromkeys(("RunKind", "record_report", "record_run"), "_runs"),
}

if not TYPE_CHECKING:  # with it mypy would take any name for one of this package
    __getattr__ = open_lazily(__name__, _HOME)
