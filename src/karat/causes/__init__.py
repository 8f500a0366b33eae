"""Causes: why queries lose relevant documents, by rules over a run and by asking its system again."""

from karat.causes._case import Case
from karat.causes._cause import CAUSES, Cause, Evidence, cause
from karat.causes._diagnosis import LIKELY, LOWER, ORDER, UNANSWERABLE, UNKNOWN, Diagnosis, diagnose, find_fall
from karat.causes._lab import Lab

__all__ = [
    "CAUSES",
    "LIKELY",
    "LOWER",
    "ORDER",
    "UNANSWERABLE",
    "UNKNOWN",
    "Case",
    "Cause",
    "Diagnosis",
    "Evidence",
    "Lab",
    "cause",
    "diagnose",
    "find_fall",
]
