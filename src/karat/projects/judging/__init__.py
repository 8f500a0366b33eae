"""Judging the answers of a project's runs."""

from karat.projects.judging._calibration import Scale, calibrate_judge, calibrate_pool
from karat.projects.judging._costs import estimate_costs
from karat.projects.judging._flakes import find_flakes
from karat.projects.judging._judge import choose_judges, judge_run, list_mute
from karat.projects.judging._labels import attach_labels, sample_labels
from karat.projects.judging._pool import judge_pool
from karat.projects.judging._population import select_counted
from karat.projects.judging._preference import prefer_run
from karat.projects.judging._prompts import show_requests
from karat.projects.judging._recording import Recording, recording_judging
from karat.projects.judging._sample import JudgedSample, judge_sample

__all__ = [
    "JudgedSample",
    "Recording",
    "Scale",
    "attach_labels",
    "calibrate_judge",
    "calibrate_pool",
    "choose_judges",
    "estimate_costs",
    "find_flakes",
    "judge_pool",
    "judge_run",
    "judge_sample",
    "list_mute",
    "prefer_run",
    "recording_judging",
    "sample_labels",
    "select_counted",
    "show_requests",
]
