"""Evaluate: ask a system, keep what it answered, score it."""

from karat.experiments._evaluate import Settings, make_run
from karat.experiments._evaluation import FIELDS, MEASURES, Evaluation, Latency, evaluate, latency, score_run, trials
from karat.experiments._runfile import RunWriter, read_run_file

__all__ = [
    "FIELDS",
    "MEASURES",
    "Evaluation",
    "Latency",
    "RunWriter",
    "Settings",
    "evaluate",
    "latency",
    "make_run",
    "read_run_file",
    "score_run",
    "trials",
]
