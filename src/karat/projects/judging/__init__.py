"""Judging the answers of a project's runs."""

from karat.projects.judging._judge import choose_judges, judge_run
from karat.projects.judging._prompts import show_requests

__all__ = ["choose_judges", "judge_run", "show_requests"]
