"""The queries that are worse than in an earlier run by a measure of the project, as in ``gate`` and ``compare``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from karat.core import KaratError, Measure, Run
from karat.evaluation import Evaluation, default_measures, score_run
from karat.gate import lower_is_better, pair_scores
from karat.projects import Project, project_policy

Values = tuple[float, float]
"""Of a query by a measure: in the earlier run, and now."""
Falls = Mapping[str, Mapping[str, Values]]
"""The measures by which each query became worse."""
_TIE = 1e-9


def list_measures(project: Project) -> tuple[str, ...]:
    """Return the measures of ``[eval]`` and of the gate that have a better and a worse."""
    chosen = project.config.eval.measures or default_measures(project.golden)
    try:
        gated = project_policy(project).measures
    except KaratError:  # the gate says what is wrong with its rules
        gated = ()
    names = dict.fromkeys((*map(str, chosen), *gated))
    return tuple(name for name in names if Measure.parse(name).definition.higher_is_better is not None)


def score_both(project: Project, run: Run, other: Run, measures: Sequence[str]) -> tuple[Evaluation, Evaluation]:
    """Return the evaluations of two runs. If they asked other wordings or repeats, only the first answers count."""
    runs = (run, other)
    if len({frozenset((trace.paraphrase, trace.repeat) for trace in each.traces) for each in runs}) > 1:
        runs = (_select_first(run), _select_first(other))
    now, was = (score_run(project.golden, each, measures, **project.scoring) for each in runs)
    return now, was


def _select_first(run: Run) -> Run:
    return replace(run, traces=tuple(trace for trace in run.traces if not trace.paraphrase and not trace.repeat))


def find_falls(now: Evaluation, was: Evaluation, measures: Iterable[str]) -> Falls:
    """Return the measures by which each query became worse, the greatest fall first; others are left out."""
    falls: dict[str, dict[str, Values]] = {}
    for measure in measures:
        sign = -1.0 if lower_is_better(measure) else 1.0
        for query, before, after in pair_scores(now, was, measure):
            if sign * (before - after) > _TIE:
                falls.setdefault(query, {})[measure] = before, after
    return {
        query: dict(sorted(rows.items(), key=lambda row: -abs(row[1][0] - row[1][1]))) for query, rows in falls.items()
    }
