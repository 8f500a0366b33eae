"""Experiments: sweeps over variants, the log of what was tried, and quality over time."""

from karat.experiments._bench import SweepSettings
from karat.experiments._history import History, Point
from karat.experiments._log import (
    LOG,
    Experiment,
    append_log,
    diff_experiments,
    find_experiment,
    log_path,
    read_log,
    split_verdict,
)
from karat.experiments._sweep import LATENCY, SweepResult, VariantOutcome, run_sweep, sweep_document
from karat.experiments._sweepfile import LIMIT, Sweep, Variant, label_keys, objective_name, plan_document, read_sweep
from karat.experiments._sweepfolder import find_sweeps
from karat.experiments._trend import Trend, read_trend, trend_document
from karat.experiments._verdicts import undominated

__all__ = [
    "LATENCY",
    "LIMIT",
    "LOG",
    "Experiment",
    "History",
    "Point",
    "Sweep",
    "SweepResult",
    "SweepSettings",
    "Trend",
    "Variant",
    "VariantOutcome",
    "append_log",
    "diff_experiments",
    "find_experiment",
    "find_sweeps",
    "label_keys",
    "log_path",
    "objective_name",
    "plan_document",
    "read_log",
    "read_sweep",
    "read_trend",
    "run_sweep",
    "split_verdict",
    "sweep_document",
    "trend_document",
    "undominated",
]
