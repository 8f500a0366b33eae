"""A brief decision has what a terminal shows of the whole one."""

from __future__ import annotations

from pathlib import Path

import pytest

from karat.config import Config
from karat.core import GoldenSet, Hit, Judgment, Provenance, Query, Run, Target, Trace
from karat.evaluation import score_run
from karat.gate import Baseline, Policy, Rule, decide
from karat.golden import identify
from karat.projects import GateResult, Project, report_document
from karat.reports import render_text

GOLDEN = GoldenSet(
    queries=tuple(Query(id=f"q{i}", text=f"question {i}") for i in range(12)),
    judgments=tuple(Judgment(query=f"q{i}", target=Target(document=f"d{i}"), grade=3) for i in range(12)),
)


def make_run(worse: int) -> Run:
    """Return a run that has the right document second for some queries, and for one query not at all."""
    traces = []
    for i in range(12):
        documents = ["x", f"d{i}"] if i < worse else [f"d{i}", "x"] if i < 11 else ["x", "y"]
        hits = tuple(Hit(name, 2.0 - rank) for rank, name in enumerate(documents))
        traces.append(Trace(query=f"q{i}", text=f"question {i}", hits=hits, timings={"total": 5.0}))
    return Run(provenance=Provenance(name=f"worse {worse}", golden=identify(GOLDEN)), traces=tuple(traces))


@pytest.mark.parametrize("worse", [0, 3])
@pytest.mark.parametrize("limits", [{}, {"RR": 0.3}])
def test_the_terminal_shows_the_same_of_a_brief_document(worse: int, limits: dict[str, float]) -> None:
    """The text depends on queries that changed or are below a limit, and on no others."""
    policy = Policy(rules=(Rule(metric="RR", non_inferior=True),), list_below=limits)
    now, then = (score_run(GOLDEN, make_run(count), ["RR"]) for count in (worse, 0))
    result = GateResult(
        project=Project(config=Config(folder=Path(), golden=Path()), golden=GOLDEN),
        decision=decide(now, then, policy),
        baseline=Baseline(evaluation=then),
    )
    whole, brief = report_document(result), report_document(result, brief=True)
    assert render_text(brief) == render_text(whole)
    below = {"q11"} if limits else set()
    assert {query.id for query in brief.queries} == {f"q{i}" for i in range(worse)} | below
    assert len(whole.queries) == 12
