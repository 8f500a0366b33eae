"""Evaluate: ask a system, keep what it answered, score it."""

from karat.experiments._advice import advice
from karat.experiments._evaluate import Settings, make_run, same_golden
from karat.experiments._evaluation import MEASURES, Evaluation, deepest, score_run, trials
from karat.experiments._latency import Latency, latency
from karat.experiments._project import SETTINGS, Project, evaluate, open_project, run_path
from karat.experiments._runfile import RunWriter, read_run_file
from karat.experiments._segments import FIELDS
from karat.experiments._traces import read_answers

__all__ = [
    "FIELDS",
    "MEASURES",
    "SETTINGS",
    "Evaluation",
    "Latency",
    "Project",
    "RunWriter",
    "Settings",
    "advice",
    "deepest",
    "evaluate",
    "latency",
    "make_run",
    "open_project",
    "read_answers",
    "read_run_file",
    "run_path",
    "same_golden",
    "score_run",
    "trials",
]
