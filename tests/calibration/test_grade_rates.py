"""Grades from the behaviour of simulated people beside the true ones, and those of "agent" beside both."""

from __future__ import annotations

import numpy as np
import pytest
from searchers import DEPTH, Traffic, simulate

import karat
from karat.feedback import AskedQuery, PairCounts, Session, grade_like_agent, judge_behaviour
from karat.feedback._pairs import QueryPairs
from karat.online import LoggedHit, LoggedQuery
from karat.stats.clicks import Cells

pytestmark = pytest.mark.calibration

LEVEL = 0.025
TRUE_CUTS = (0.1, 0.3)


def to_counts(traffic: Traffic) -> PairCounts:
    """Return traffic as the pairs of a log: query 3 has the documents 30 to 39."""
    counts, cells = PairCounts(), Cells.count(traffic.shown)
    columns = (cells.items, cells.ranks, cells.shown, cells.clicks, cells.examined, cells.last)
    for item, rank, *cell in np.stack(columns, axis=1).tolist():
        text = f"query {item // DEPTH}"
        pairs = counts.queries.setdefault(text, QueryPairs(forms={text: 1}))
        pairs.cells.setdefault(str(item), {})[rank] = cell
    return counts


def to_sessions(traffic: Traffic) -> list[Session]:
    items, clicks = (own.reshape(-1, DEPTH) for own in (traffic.shown.items, traffic.shown.clicks))
    sessions = []
    for page, (own, clicked) in enumerate(zip(items.tolist(), clicks.tolist(), strict=True)):
        hits = tuple(LoggedHit(str(item), rank) for rank, item in enumerate(own, 1))
        query = LoggedQuery(str(page), float(page), f"query {own[0] // DEPTH}", session=str(page), hits=hits)
        read = {str(item): rank for rank, (item, was) in enumerate(zip(own, clicked, strict=True), 1) if was}
        sessions.append(Session(id=str(page), queries=(AskedQuery(query=query, read=read),)))
    return sessions


@pytest.mark.slow
@pytest.mark.parametrize("world", ["position", "cascade", "mix"])
def test_grades_from_reading_are_never_too_high(world: str) -> None:
    """Beyond the level of the interval: at most 2.5 % of the graded pairs; most good ones get a grade."""
    traffic = simulate(world, queries=60, pages=300, rng=np.random.default_rng(5))
    judgments = judge_behaviour(to_counts(traffic))
    true = np.digitize(traffic.attraction, TRUE_CUTS)
    graded = [(judgment.grade, int(true[int(judgment.document)])) for judgment in judgments if judgment.grade]
    assert sum(grade > right for grade, right in graded) <= LEVEL * len(graded)
    assert len(graded) > 0.5 * (true == 2).sum()


@pytest.mark.slow
def test_grades_of_agent_overstate_the_system_that_made_them() -> None:
    """nDCG@10 of a system by its own clicks: "agent" calls it far better than it is; grades from intervals do not.

    The ranking is that of the mean ranks. True grades are those of the true attraction.
    """
    traffic = simulate("position", queries=60, pages=60, rng=np.random.default_rng(6))
    places = np.bincount(traffic.shown.items, traffic.shown.ranks) / np.bincount(traffic.shown.items)
    run = {f"query {q}": {str(i): -places[i] for i in range(q * DEPTH, (q + 1) * DEPTH)} for q in range(60)}
    true = np.digitize(traffic.attraction, TRUE_CUTS).tolist()
    qrels = {query: {name: true[int(name)] for name in scores} for query, scores in run.items()}
    agent = grade_like_agent(to_sessions(traffic))

    def ndcg(grades: dict[str, dict[str, int]]) -> float:
        return karat.score(grades, run, ["nDCG@10"]).mean()["nDCG@10"]

    assert ndcg(agent) > ndcg(qrels) + 0.05
    # Nearly every bad document that stands high was read by somebody, and is called relevant for it.
    bad = [(query, name) for query, own in qrels.items() for name, grade in own.items() if grade == 0]
    assert np.mean([agent[query][name] >= 2 for query, name in bad]) > 0.4
    judged = {(j.query, j.document): j.grade for j in judge_behaviour(to_counts(traffic)) if j.grade}
    assert sum(pair in judged for pair in bad) <= LEVEL * max(len(judged), 1)
