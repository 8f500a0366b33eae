"""Experiments: sweeps over variants, the log of what was tried, and quality over time."""

from karat.experiments._log import LOG, Experiment, append_log, find_experiment, read_log
from karat.experiments._sweep import Swept, Trial, run_sweep, sweep_document
from karat.experiments._sweep_bench import SweepSettings
from karat.experiments._sweepfile import LIMIT, Sweep, Variant, objective_name, read_sweep
from karat.experiments._trend import History, Point, RunFile, Trend, newest_run, read_trend

__all__ = [
    "LIMIT",
    "LOG",
    "Experiment",
    "History",
    "Point",
    "RunFile",
    "Sweep",
    "SweepSettings",
    "Swept",
    "Trend",
    "Trial",
    "Variant",
    "append_log",
    "find_experiment",
    "newest_run",
    "objective_name",
    "read_log",
    "read_sweep",
    "read_trend",
    "run_sweep",
    "sweep_document",
]
