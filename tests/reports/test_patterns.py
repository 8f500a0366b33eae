"""Hints on an evaluation: the same patterns, in the same words, as the recommendations of a decision."""

from __future__ import annotations

import math

from karat.reports import hints
from karat.reports._recommendations import recommend
from reports.documents import make_document, make_measure, make_query, typed


def test_high_precision_and_low_recall() -> None:
    """At the same cut-off; the finding is that of the recommendation."""
    queries = [make_query(f"q{i}", 1.0, scores={"P@5": 0.7, "R@5": 0.2}) for i in range(3)]
    measures = [make_measure("P@5", 0.7, None), make_measure("R@5", 0.2, None)]
    (advice,) = recommend(typed(make_document(queries=queries, measures=measures, segments=[])))
    assert hints({"P@5": 0.7, "R@5": 0.2}, 0, 120) == [f"{advice.finding}: {advice.advice}"]
    assert hints({"P@5": 0.7, "R@10": 0.2}, 0, 120) == []


def test_a_weak_order() -> None:
    """RR is low although nearly every query finds something."""
    (line,) = hints({"RR@10": 0.3}, 12, 120)
    assert line.startswith("RR@10 is low (0.3000) although nearly every query finds something: the order is weak")
    assert hints({"RR@10": 0.3}, 13, 120) == []
    assert hints({"RR@10": 0.5}, 0, 120) == []


def test_nothing_found_is_the_only_hint() -> None:
    """Then every other number follows from that."""
    (line,) = hints({"P@5": 0.0, "RR@10": 0.0}, 5, 5)
    assert line.startswith("no query found anything relevant: compare the ids")


def test_no_hits_at_all_are_not_blamed_on_ids() -> None:
    """A system that returns nothing has no ids to compare; if one query got hits, ids may be the reason."""
    (line,) = hints({"P@5": 0.0}, 5, 5, empty=5)
    assert line.startswith("the system returned no hits for any of 5 queries: check that the index is filled")
    assert "compare the ids" in hints({"P@5": 0.0}, 5, 5, empty=4)[0]


def test_what_was_not_measured_is_neither_high_nor_low() -> None:
    """Without queries, or with a mean that is undefined, there is no hint."""
    assert hints({"RR@10": 0.1}, 0, 0) == []
    assert hints({"RR@10": math.nan, "P@5": 0.9, "R@5": math.nan}, 0, 10) == []
