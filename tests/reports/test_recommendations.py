"""Recommendations: each rule fires on its pattern, names its queries, and is silent otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from each import each
from karat.reports import RULES
from karat.reports._recommendations import recommend
from karat.schema import Recommendation
from reports.documents import make_check, make_document, make_measure, make_query, typed


def recommendations_of(document: dict[str, Any], rule: str) -> list[Recommendation]:
    return [advice for advice in recommend(typed(document)) if advice.rule == rule]


def test_a_good_run_gets_no_recommendation() -> None:
    """A run that is good and did not move gets no recommendation."""
    queries = [make_query(f"q{i}", 1.0, 1.0) for i in range(10)]
    document = make_document(queries=queries, measures=[make_measure(now=1.0, was=1.0)])
    document["segments"] = []
    assert recommend(typed(document)) == ()


def test_every_recommendation_names_queries_of_the_document() -> None:
    """On a document on which many rules fire, each names ids that are there."""
    document = make_document(checks=[make_check("non_inferior", "inconclusive", needed=90)])
    ids = {query["id"] for query in document["queries"]}
    assert recommend(typed(document))
    assert all(
        recommendation.queries and set(recommendation.queries) <= ids for recommendation in recommend(typed(document))
    )
    assert {recommendation.rule for recommendation in recommend(typed(document))} <= RULES.keys()


def test_failed_queries_are_grouped_by_their_error() -> None:
    """Those with the same error stand together, the most frequent first."""
    errors = {"q1": "Timeout", "q2": "Timeout", "q3": "Refused"}
    document = make_document(queries=[make_query(id_, 0.0, error=error) for id_, error in errors.items()])
    assert [
        (recommendation.finding, recommendation.queries)
        for recommendation in recommendations_of(document, "failed-queries")
    ] == [
        ("2 queries failed with the same error: Timeout", ("q1", "q2")),
        ("1 query failed with the same error: Refused", ("q3",)),
    ]


def test_when_all_is_zero_the_ids_are_compared() -> None:
    """All metrics are 0; an id that was returned stands beside one that was expected."""
    document = make_document(queries=[make_query("q1", 0.0), make_query("q2", 0.0)])
    (recommendation,) = recommendations_of(document, "nothing-found")
    assert recommendation.advice.endswith("it gave 'x1' where 'd-q1' is expected")
    assert recommendation.queries == ("q1", "q2")
    empty = make_document(queries=[make_query("q1", 0.0, hits=[])])
    assert "returned no hits for any of 1 query: check" in recommendations_of(empty, "nothing-found")[0].advice
    assert recommendations_of(make_document(), "nothing-found") == []


def precise(precision: float, recall: float, relevant: int) -> dict[str, Any]:
    scores = {"P@5": precision, "R@5": recall}
    wanted = [{"document": f"d{i}", "title": "", "grade": 1, "rank": None} for i in range(relevant)]
    queries = [make_query(f"q{i}", 1.0, scores=scores, expected=wanted) for i in range(4)]
    measures = [make_measure("P@5", precision, None), make_measure("R@5", recall, None)]
    return make_document(queries=queries, measures=measures)


def test_high_precision_with_low_recall() -> None:
    """Ask for more hits; if more is relevant than the cut-off holds, it says so."""
    (few,) = recommendations_of(precise(0.8, 0.3, 4), "precise-but-incomplete")
    assert "ask for more hits" in few.advice
    (many,) = recommendations_of(precise(0.8, 0.3, 9), "precise-but-incomplete")
    assert "more than 5 relevant documents, which 5 hits cannot hold" in many.advice
    assert many.queries == ("q0", "q1", "q2", "q3")
    assert recommendations_of(precise(0.8, 0.5, 4), "precise-but-incomplete") == []


def test_a_low_reciprocal_rank_although_all_is_found() -> None:
    """Check the ranking; the advice says if the pipeline has no reranker."""
    queries = [make_query("q1", 1 / 3), make_query("q2", 1 / 4), make_query("q3", 0.5)]
    document = make_document(queries=queries, measures=[make_measure(now=0.36, was=None)])
    (recommendation,) = recommendations_of(document, "weak-order")
    assert recommendation.queries == ("q1", "q2")
    assert "the pipeline has none" in recommendation.advice
    document["run"]["system"]["rerank"] = {"kind": "cross-encoder"}
    assert "reranker's depth" in recommendations_of(document, "weak-order")[0].advice
    assert recommendations_of(make_document(), "weak-order") == []


def test_a_fall_of_precision_names_the_intruder_and_the_threshold() -> None:
    """Raise the reranker's threshold from 0.5 to 0.6, and review the false positive that is new most often."""
    queries = [make_query(f"q{i}", 1.0, scores={"P@5": 0.2}, baseline={"P@5": 0.4}) for i in range(3)]
    for query in queries:
        query["hits"][2] |= {"document": "intruder", "was": None}
    document = make_document(queries=queries, measures=[make_measure("P@5", 0.2, 0.4)])
    document["run"]["system"]["rerank"] = {"kind": "mix", "threshold": 0.5}
    (recommendation,) = recommendations_of(document, "precision-fell")
    assert recommendation.finding == "P@5 fell from 0.4000 to 0.2000: 3 queries lost"
    assert "'intruder' is new in 3 of them" in recommendation.advice
    assert "it is 0.5, try 0.6" in recommendation.advice
    assert recommendation.queries == ("q0", "q1", "q2")


def test_a_fall_of_recall_names_what_is_missing_and_what_changed() -> None:
    """The relevant document that is missing most often, and the settings that differ from the baseline's."""
    gone = [{"document": "gone", "title": "", "grade": 1, "rank": None}]
    queries = [make_query(f"q{i}", 1.0, scores={"R@5": 0.0}, baseline={"R@5": 1.0}, expected=gone) for i in range(2)]
    document = make_document(queries=queries, measures=[make_measure("R@5", 0.0, 1.0)])
    (recommendation,) = recommendations_of(document, "recall-fell")
    assert "'gone' is missing from 2 of them" in recommendation.advice
    assert recommendation.advice.endswith("what changed in the system: chunk.size")


def segments(now: float, was: float, queries: int = 5) -> dict[str, Any]:
    rows = [make_query(f"q{i}", 0.5, 1.0) for i in range(queries)]
    document = make_document(queries=rows, measures=[make_measure(now=0.79, was=0.8)])
    document["segments"][0] |= {"queries": queries, "means": {"RR@10": now}, "baseline": {"RR@10": was}}
    return document


def test_a_segment_that_fell_more_than_the_rest() -> None:
    """At least five queries, 0.05, and twice the fall of all."""
    (recommendation,) = recommendations_of(segments(0.6, 0.8), "segment-fell")
    assert recommendation.finding == "category prices fell more than the rest: RR@10 by 0.200 (on all by 0.010)"
    assert recommendation.queries == ("q0", "q1", "q2", "q3", "q4")
    assert recommendations_of(segments(0.77, 0.8), "segment-fell") == []
    assert recommendations_of(segments(0.6, 0.8, queries=4), "segment-fell") == []


def fused(channels: list[dict[str, int]]) -> dict[str, Any]:
    queries = []
    for i, ranks in enumerate(channels):
        hit = {"rank": 7, "id": "d", "document": f"d-q{i}", "score": 0.1, "grade": 1, "was": None, "channels": ranks}
        queries.append(make_query(f"q{i}", 1.0))
        queries[-1]["hits"].append(hit)
    return make_document(queries=queries)


def test_fusion_that_hides_what_one_channel_has() -> None:
    """Three queries in which dense has it first; where it happens to both channels, no weight helps."""
    dense, lexical = {"dense": 1, "lexical": 60}, {"dense": 60, "lexical": 2}
    (recommendation,) = recommendations_of(fused([dense] * 3), "fusion-hides")
    assert "more weight for dense" in recommendation.advice
    assert recommendation.queries == ("q0", "q1", "q2")
    assert recommendations_of(fused([dense] * 3 + [lexical] * 3), "fusion-hides") == []
    assert recommendations_of(fused([dense] * 2), "fusion-hides") == []


def test_hits_that_nobody_judged() -> None:
    """Three queries with mostly unjudged hits; a set that judges only what is relevant is left alone."""
    document = make_document()
    for query in document["queries"][:3]:
        for hit in query["hits"][:3]:
            hit["grade"] = None
    (recommendation,) = recommendations_of(document, "unjudged")
    assert recommendation.queries == ("q1", "q2", "q3")
    document["queries"][0]["unanswerable"] = True  # two are left, which are too few to tell
    assert recommendations_of(document, "unjudged") == []
    for query in document["queries"]:
        query.pop("unanswerable", None)
        for hit in query["hits"]:
            hit["grade"] = hit["grade"] or None
    assert recommendations_of(document, "unjudged") == []


def test_slower_names_stage_and_slowest_queries() -> None:
    """A 95th percentile that is more than a fifth above the baseline's."""
    document = make_document()
    document["latency"]["stages"]["total"] = {"n": 4, "mean": 50.0, "p50": 40.0, "p95": 90.0, "p99": 95.0}
    document["queries"][2]["ms"] = 95.0
    (recommendation,) = recommendations_of(document, "slower")
    assert recommendation.finding == "95 % of the queries took at most 90.0 ms, 12.0 ms in the baseline"
    assert recommendation.advice.startswith("embed takes most of it (12.0 ms)")
    assert recommendation.queries == ("q3",)
    assert recommendations_of(make_document(), "slower") == []


def test_slow_queries_without_a_time_are_left_out() -> None:
    """Where a limit on latency failed although no time was measured, no query is named, and nothing breaks."""
    document = make_document(
        outcome="fail",
        checks=[make_check("max", "fail", metric="latency.p95")],
        queries=[make_query("q1", 1.0, ms=None)],
        latency={
            "stages": {"total": {"n": 1, "mean": 0.0, "p50": 0.0, "p95": 0.0, "p99": 0.0}},
            "baseline": {},
            "histogram": {"edges": [], "counts": []},
        },
    )
    assert recommendations_of(document, "slower") == []


@pytest.mark.parametrize(("now", "advised"), [(0.3, 0), (900.0, 1)])
def test_a_percentile_among_failed_questions_is_not_called_slow(now: float, advised: int) -> None:
    """The check fails because p95 is not known, with the slowest answer as its number, which may be quick."""
    checks = [make_check("slow", "fail", metric="latency.p95", current=now, baseline=10.0, limit=3.0)]
    total = {"n": 20, "mean": now, "p50": now, "p95": now, "p99": now}
    latency = {"stages": {"total": total}, "baseline": {}, "histogram": {"edges": [], "counts": []}}
    document = make_document(outcome="fail", checks=checks, latency=latency)
    document["queries"][2]["ms"] = now
    assert len(recommendations_of(document, "slower")) == advised


def test_a_mean_that_is_missing_is_not_called_low() -> None:
    """A measure that no query has a value for says nothing about the order."""
    queries = [make_query("q1", 1 / 3, scores={})]
    document = make_document(queries=queries, measures=[make_measure(was=None, now=0.3) | {"mean": None}])
    assert recommendations_of(document, "weak-order") == []


def test_too_few_queries_says_how_many_would_do() -> None:
    """The largest number that an inconclusive check asks for, and the queries that lost, the worst first.

    A drop may be shown all the same; the finding says how many queries were compared, and not how many were asked.
    """
    document = make_document(
        checks=[make_check("non_inferior", "inconclusive", difference=-0.05, limit=0.04, needed=90, n=3)]
    )
    (recommendation,) = recommendations_of(document, "too-few-queries")
    assert recommendation.finding == "RR@10: 3 queries cannot tell whether it got worse by more than is tolerated"
    assert recommendation.advice.startswith("about 90 would show a drop of 0.05 in RR@10")
    assert recommendation.queries == ("q3", "q4")


@each(
    ("metric", "measure", "lower", "advice"),
    [
        ("CiteCoverage", "CiteCoverage", False, "where sections and chunks begin"),
        ("CiteAccuracy", "CiteAccuracy", False, "normaliser"),
        ("delta_s.p90", "CiteDeltaS", True, "embedder"),
        ("Lambda(repeats=1)", "Lambda(repeats=1)", False, "reranker"),
    ],
)
def test_a_failed_check_of_answers_says_where_to_look(metric: str, measure: str, lower: bool, advice: str) -> None:
    """With the queries that are no better than the mean, the worst first; a check that holds says nothing."""
    values = {"q1": 0.2, "q2": 0.6, "q3": 0.4, "q4": 0.8}
    queries = [make_query(id_, 1.0, scores={measure: value}) for id_, value in values.items()]
    rows = [make_measure(measure, 0.5, None, lower_is_better=lower)]
    document = make_document(queries=queries, measures=rows, checks=[make_check("min", "fail", metric=metric)])
    (found,) = recommendations_of(document, "answers-cite-wrong")
    assert advice in found.advice
    assert found.finding == f"{measure} is 0.5000; 2 queries are no better"
    assert found.queries == (("q4", "q2") if lower else ("q1", "q3"))
    holds = make_document(queries=queries, measures=rows, checks=[make_check("min", "pass", metric=metric)])
    assert recommendations_of(holds, "answers-cite-wrong") == []
    refused = [make_check("min", "fail", metric=metric, unanswered=3)]
    (found,) = recommendations_of(make_document(queries=queries, measures=rows, checks=refused), "answers-cite-wrong")
    assert found.advice.startswith("3 answers that say nothing count as worst")
