"""Live traffic: a log of queries and of what people did with what came back."""

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
    "LoggedEvent",
    "LoggedHit",
    "LoggedQuery",
    "Reader",
    "Record",
]
