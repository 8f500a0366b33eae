"""Live traffic: a log of queries and of what people did with what came back."""

from karat.online._asked import Asked
from karat.online._follow import follow
from karat.online._forget import forget
from karat.online._health import check_health
from karat.online._ingest import Ingested, ingest
from karat.online._log import Log, open  # noqa: A004 (karat.online.open reads as it should)
from karat.online._middleware import LogMiddleware
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
)
from karat.online._retention import Retention, expire
from karat.online._stored import LogReader, read_log

__all__ = [
    "EVENT_KINDS",
    "IMPRESSION",
    "READ_AFTER_SEARCH",
    "REFERENCE",
    "RE_SEARCH",
    "SCROLL_PAST",
    "TASK_OUTCOME",
    "VALIDATE_NOT_USEFUL",
    "VALIDATE_USEFUL",
    "Asked",
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
    "check_health",
    "expire",
    "follow",
    "forget",
    "ingest",
    "open",
    "read_log",
]
