"""Answers to questions of a golden set that were given on live traffic, as a run that is scored like any other."""

from karat.online.answers._counts import AnswerCount, count_answers, make_counted_run
from karat.online.answers._questions import MOST_REPEATS, GivenAnswer, LiveRun, make_live_run

__all__ = [
    "MOST_REPEATS",
    "AnswerCount",
    "GivenAnswer",
    "LiveRun",
    "count_answers",
    "make_counted_run",
    "make_live_run",
]
