"""Judging the answers of a project's runs."""

from karat.projects.judging._calibration import Scale, calibrate_judge, calibrate_pool
from karat.projects.judging._costs import estimate_costs
from karat.projects.judging._judge import choose_judges, judge_run
from karat.projects.judging._labels import attach_labels, sample_labels
from karat.projects.judging._pool import judge_pool
from karat.projects.judging._preference import prefer_run
from karat.projects.judging._prompts import show_requests

__all__ = [
    "Scale",
    "attach_labels",
    "calibrate_judge",
    "calibrate_pool",
    "choose_judges",
    "estimate_costs",
    "judge_pool",
    "judge_run",
    "prefer_run",
    "sample_labels",
    "show_requests",
]
