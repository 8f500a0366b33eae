"""Comparing runs: read, checked, scored alike, and held against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from karat.core import UsageError
from karat.evaluation import find_segments
from karat.gate import Correction, compare_document
from karat.projects._evaluations import read_evaluations
from karat.projects._project import Project
from karat.schema import ComparisonDocument


def compare_runs(
    paths: Sequence[str | Path],
    measures: Sequence[str] = (),
    *,
    project: str | Path | Project | None = None,
    by: str | None = None,
    per_query: bool = False,
    bounds: bool = False,
    brief: bool = False,
    correction: Correction = "westfall-young",
    seed: int = 0,
    say: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ComparisonDocument:
    """Compare run files and baseline files; the first is the baseline of the others.

    Without ``measures`` those of a baseline file count, or else those of the project, which is by default the one that
    the first file is in. ``by`` compares each value of a field of the queries, or of their metadata, by itself.
    ``per_query`` adds every query, and ``bounds`` how far unjudged documents could move each difference; all three are
    for two runs. With ``brief`` the document has what a terminal shows: how documents moved of the queries that changed
    most. ``say`` gets notes on the input, ``progress`` the numbers of tests done and in all.
    """
    if len(paths) < 2:
        raise UsageError("one run: name two or more to compare")
    if len(paths) > 2 and (by or per_query or bounds):
        raise UsageError("segments, single queries and bounds are for two runs; compare two at a time")
    runs = read_evaluations(paths, measures, project=project, say=say)
    golden = runs.project.golden
    segments = find_segments(golden, by) if by else None
    return compare_document(
        runs.evaluations,
        golden,
        measures=runs.measures,
        segments=segments,
        correction=correction,
        seed=seed,
        per_query=per_query,
        bounds=bounds,
        brief=brief,
        progress=progress,
    )
