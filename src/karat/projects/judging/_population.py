"""Which answers count in the measure of a judge: the same for all verbs."""

from __future__ import annotations

from collections.abc import Iterable

from karat.core import Measure
from karat.judges import JUDGES
from karat.projects._project import Project


def select_counted(project: Project, judge: str, queries: Iterable[str]) -> set[str]:
    """Return the queries that the measure of a judge is for, as ``karat eval`` scores them.

    A question without an answer may have been answered, and judged: most measures leave that out.
    """
    unanswerable, meant = project.golden.unanswerable, _describe_queries(judge)
    return {query for query in queries if meant == "all" or (query in unanswerable) == (meant == "unanswerable")}


def _describe_queries(judge: str) -> str:
    measure = JUDGES[judge].measure if judge in JUDGES else "Rubric"
    return Measure.parse(measure).definition.queries
