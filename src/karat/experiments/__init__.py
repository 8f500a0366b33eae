"""Evaluate: ask a system, keep what it answered, score it."""

from karat.experiments._advice import advice
from karat.experiments._check import (
    CHOICES,
    as_path,
    as_policy,
    check,
    check_project,
    checked_project,
    chosen_settings,
    verdict,
)
from karat.experiments._evaluate import Settings, make_run, same_golden
from karat.experiments._evaluation import MEASURES, Evaluation, deepest, score_run, trials
from karat.experiments._failure import explain
from karat.experiments._gating import Gated, baseline_path, carried_over, find_baseline, gate_run, policy_of, project_of
from karat.experiments._latency import Latency, latency
from karat.experiments._lock import folder_lock
from karat.experiments._log import LOG, Experiment, append_log, find_experiment, read_log
from karat.experiments._project import SETTINGS, Project, evaluate, open_project, run_path
from karat.experiments._report import report_document
from karat.experiments._runfile import RunWriter, read_run_file
from karat.experiments._segments import FIELDS, groups
from karat.experiments._snapshot import snapshot, snapshot_run
from karat.experiments._subjects import Subject, Subjects, read_subjects
from karat.experiments._sweep import Swept, Trial, run_sweep, sweep_document
from karat.experiments._sweep_bench import SweepSettings
from karat.experiments._sweepfile import LIMIT, Sweep, Variant, objective_name, read_sweep
from karat.experiments._traces import read_answers
from karat.experiments._trend import History, Point, RunFile, Trend, newest_run, read_trend

__all__ = [
    "CHOICES",
    "FIELDS",
    "LIMIT",
    "LOG",
    "MEASURES",
    "SETTINGS",
    "Evaluation",
    "Experiment",
    "Gated",
    "History",
    "Latency",
    "Point",
    "Project",
    "RunFile",
    "RunWriter",
    "Settings",
    "Subject",
    "Subjects",
    "Sweep",
    "SweepSettings",
    "Swept",
    "Trend",
    "Trial",
    "Variant",
    "advice",
    "append_log",
    "as_path",
    "as_policy",
    "baseline_path",
    "carried_over",
    "check",
    "check_project",
    "checked_project",
    "chosen_settings",
    "deepest",
    "evaluate",
    "explain",
    "find_baseline",
    "find_experiment",
    "folder_lock",
    "gate_run",
    "groups",
    "latency",
    "make_run",
    "newest_run",
    "objective_name",
    "open_project",
    "policy_of",
    "project_of",
    "read_answers",
    "read_log",
    "read_run_file",
    "read_subjects",
    "read_sweep",
    "read_trend",
    "report_document",
    "run_path",
    "run_sweep",
    "same_golden",
    "score_run",
    "snapshot",
    "snapshot_run",
    "sweep_document",
    "trials",
    "verdict",
]
