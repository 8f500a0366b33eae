"""Runs: a system asked every question of a golden set, what it answered as a file, and answers from elsewhere."""

from karat.runs._evaluate import Settings, begun, make_run, same_golden
from karat.runs._runfile import RunWriter, header, read_begun, read_run_file
from karat.runs._traces import read_answers

__all__ = [
    "RunWriter",
    "Settings",
    "begun",
    "header",
    "make_run",
    "read_answers",
    "read_begun",
    "read_run_file",
    "same_golden",
]
