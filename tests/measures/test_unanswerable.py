"""Queries that have no answer: what measures them, and what does not."""

from __future__ import annotations

from typing import NamedTuple

from each import each
from karat import GoldenSet, Hit, Judgment, Query, Scores, Target, score_hits
from karat.core import MEASURES, Definition, Measure

UNANSWERABLE = "unanswerable: the right answer is no answer"
GOLDEN = GoldenSet(
    queries=(
        Query(id="a", text="when does the pool open?"),
        *(Query(id=name, text="is there a helipad?", answerable=False) for name in ("empty", "two", "failed", "lost")),
    ),
    judgments=(Judgment(query="a", target=Target(document="pool"), grade=3),),
)
HITS = {
    "a": [Hit("wifi", 2.0), Hit("pool", 1.0)],
    "empty": [],
    "two": [Hit("pool:chunk:0", 3.0), Hit("pool:chunk:1", 2.0), Hit("wifi", 1.0)],
    "failed": [],
}


class Case(NamedTuple):
    """A measure and its value by hand for each query that has no answer."""

    measure: str
    empty: float
    two: float
    failed: float
    lost: float


CASES = [
    Case("TrueEmpty", 1.0, 0.0, 0.0, 0.0),
    Case("rightly_empty", 1.0, 0.0, 0.0, 0.0),
    Case("FalseHits@1", 0.0, 1.0, 1.0, 1.0),
    Case("FalseHits@10", 0.0, 2.0, 10.0, 10.0),  # two chunks of one document are one hit
]


def scored(*measures: str, **options: object) -> Scores:
    return score_hits(GOLDEN, HITS, measures, failed={"failed"}, **options)  # type: ignore[arg-type]


@each("case", CASES, ids=str)
def test_by_hand(case: Case) -> None:
    """An empty list is right, a hit is wrong, and neither a failure nor a missing query is an answer."""
    scores = scored(case.measure)
    values = {query: scores.value(query, case.measure) for query in GOLDEN.unanswerable}
    assert values == {"empty": case.empty, "two": case.two, "failed": case.failed, "lost": case.lost}
    assert scores.reason("a", case.measure) == "the query has an answer"
    assert scores.mean()[str(Measure.parse(case.measure))] == sum(case[1:]) / 4


@each("undefined", ["exclude", "zero", "one"])
@each("definition", list(MEASURES), ids=lambda definition: definition.name)
def test_measures_of_answers_are_undefined(definition: Definition, undefined: str) -> None:
    """A measure of answers has no value for a query without one, whatever is done with undefined values."""
    if definition.queries != "answerable":
        return
    at = {"required": "@5", "recall": "@0.5"}.get(definition.cutoff, "")
    name = str(Measure.parse(f"{definition.name}{at}"))
    scores = scored(name, undefined=undefined)
    assert {scores.reason(query, name) for query in GOLDEN.unanswerable} == {UNANSWERABLE}


def test_counts_are_of_all_queries() -> None:
    """A count is neither good nor bad, and counts the lists of all queries."""
    assert scored("NumRet").sum("NumRet") == 2 + 2
    assert scored("NumQ").sum("NumQ") == 5


def test_a_mean_is_that_of_the_queries_with_an_answer() -> None:
    """Queries without an answer neither raise nor lower the mean of an ordinary measure."""
    assert scored("RR@10", "P@1").mean() == {"RR@10": 0.5, "P@1": 0.0}
    assert scored("RR@10").missing("RR@10") == {UNANSWERABLE: 4}
