"""The ranked lists of two runs, and a whole comparison as plain data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evaluations import make_evaluation
from karat.core import GoldenSet, Query, Trace
from karat.evaluation import Evaluation
from karat.gate import compare_document
from karat.gate._lists import compare_lists, rr_deltas, summarise_lists
from karat.gate._names import label
from karat.schema import QueryValues, SystemChange, to_json

TEXTS = GoldenSet(name="tiny", queries=tuple(Query(id=f"q{i}", text=f"question {i}") for i in range(4)))


def make_scored(name: str, **fields: Any) -> Evaluation:
    """A run of four queries."""
    return make_evaluation(**{
        "name": name, "golden": {}, "system": {}, "fingerprint": "", "queries": ("q0", "q1", "q2", "q3"), **fields,
    })  # fmt: skip


def values(*scores: float) -> dict[str, tuple[float, ...]]:
    """One value for each query."""
    return {f"q{i}": (score,) for i, score in enumerate(scores)}


def test_lists_by_hand() -> None:
    """The same, exchanged, another, and a query that one run lacks."""
    then = {"q0": ["a", "b"], "q1": ["a", "b"], "q2": ["a"], "q3": ["a"]}
    now = {"q0": ["a", "b"], "q1": ["b", "a"], "q2": ["c"]}
    similarities = compare_lists(now, then)
    assert list(similarities) == ["q0", "q1", "q2"]
    summary = summarise_lists(similarities)
    assert (summary.queries, summary.unchanged, summary.top1_changed) == (3, 1, 2)
    assert summary.top1_changed_share == pytest.approx(2 / 3)
    assert summary.jaccard == pytest.approx(2 / 3)
    assert summary.kendall_tau == pytest.approx((1 - 1 - 1) / 3)
    assert summary.classes == {"identical": 1, "minor": 0, "major": 0, "incompatible": 2}


def test_a_cut_looks_at_the_first_documents_only() -> None:
    """With k = 1 what comes second does not count."""
    then, now = {"q": ["a", "b"]}, {"q": ["a", "c"]}
    assert compare_lists(now, then)["q"].jaccard == pytest.approx(1 / 3)
    assert compare_lists(now, then, k=1)["q"].similarity_class == "identical"


def test_a_changed_reciprocal_rank_is_a_major_change() -> None:
    """Lists that are all but the same are no longer alike where the first relevant document moved."""
    ids = [str(i) for i in range(100)]
    swapped = [*ids[:1], ids[2], ids[1], *ids[3:]]
    assert compare_lists({"q": swapped}, {"q": ids})["q"].similarity_class == "identical"
    assert compare_lists({"q": swapped}, {"q": ids}, rr_deltas={"q": 1 / 3 - 1 / 2})["q"].similarity_class == "major"


def test_the_reciprocal_rank_of_the_whole_list_is_preferred() -> None:
    """Of RR@10 and RR, RR tells more; without any nothing is said."""
    then = make_scored("a", values={"RR@10": values(0.0, 1.0), "RR": values(1 / 20, 1.0), "R@5": values(1.0, 1.0)})
    now = make_scored("b", values={"RR@10": values(0.0, 0.5), "RR": values(1 / 10, 0.5), "R@5": values(1.0, 0.0)})
    assert rr_deltas(now, then) == pytest.approx({"q0": 1 / 20, "q1": -0.5})
    assert rr_deltas(now, make_scored("c", values={"R@5": values(1.0)})) == {}


def test_without_lists_there_is_no_mean() -> None:
    """Nothing compared is null, never a number."""
    assert summarise_lists({}).rbo is None
    assert summarise_lists({}).top1_changed_share is None


def two() -> list[Evaluation]:
    """Two runs: q0 lost, q1 won, q2 stayed, q3 changed less than q0."""
    return [
        make_scored(
            "old", values={"RR": values(1.0, 0.0, 0.5, 0.5), "Unjudged@10": values(1.0, 1.0, 1.0, 0.0)},
            means={"RR": 0.5, "Unjudged@10": 0.75}, system={"chunk": {"size": 256}},
            lists={"q0": ("a", "b"), "q1": ("c",), "q2": ("a",), "q3": ("a", "c")},
        ),
        make_scored(
            "new", values={"RR": values(0.0, 0.25, 0.5, 1.0), "Unjudged@10": values(1.0, 1.0, 1.0, 1.0)},
            means={"RR": 0.4375, "Unjudged@10": 1.0}, system={"chunk": {"size": 384}}, failures={"q0": "timed out"},
            lists={"q0": (), "q1": ("a", "c"), "q2": ("a",), "q3": ("c", "a")},
        ),
    ]  # fmt: skip


def test_a_comparison_as_a_document() -> None:
    """Runs with labels, the pair with its tests, what changed in the system, in the lists and for the queries."""
    comparison = compare_document(two(), TEXTS, per_query=True)
    to_json(comparison)
    assert [(run.label, run.name, run.failed) for run in comparison.runs] == [("A", "old", 0), ("B", "new", 1)]
    assert (comparison.correction, comparison.tests) == ("westfall-young", 2)
    assert comparison.measures == ("RR", "Unjudged@10")
    (pair,) = comparison.pairs
    assert (pair.baseline, pair.candidate) == ("A", "B")
    assert pair.measures[0].difference == pytest.approx(-0.0625)
    assert pair.changes == (SystemChange(key="chunk.size", now=384, was=256),)
    assert pair.lists is not None
    assert (pair.lists.one_empty, pair.lists.unchanged, pair.lists.k) == (1, 1, 10)
    assert [(mover.query, mover.gain, mover.text) for mover in pair.movers] == [
        ("q0", -1.0, "question 0"), ("q1", 0.25, "question 1"), ("q3", 0.5, "question 3"),
    ]  # fmt: skip
    assert pair.movers[0].failed == "timed out"
    assert pair.movers[2].moved == ("c 2 to 1", "a 1 to 2")


def test_queries_are_sorted_by_how_much_they_changed() -> None:
    """By the measure on which each changed most; those that did not change come last, in the order of the set."""
    (pair,) = compare_document(two(), TEXTS, per_query=True).pairs
    assert isinstance(pair.queries, tuple)
    assert [row.query for row in pair.queries] == ["q0", "q3", "q1", "q2"]
    assert pair.queries[1].measures["Unjudged@10"] == QueryValues(baseline=0.0, candidate=1.0, difference=1.0)
    assert pair.queries[3].list is not None
    assert pair.queries[3].list.similarity_class == "identical"


def test_notes_say_what_is_missing() -> None:
    """Failures, few queries, few changes, queries of one run only, lists that are not there, means without scores."""
    old, new = two()
    (pair,) = compare_document([old, new], TEXTS).pairs
    assert pair.notes == (
        "B: 1 of 4 queries failed and count as 0",
        "with 4 queries bootstrap intervals are somewhat too short, and only large changes are found",
        "fewer than 6 queries changed in RR, Unjudged@10: the two-sided sign-flip test cannot reach 0.05",
        "only the first 10 documents of the lists are compared: a baseline file holds no more",
    )
    bare = make_scored(
        "bare", values={"RR": values(1.0, 0.5, 0.5)}, means={"RR": 2 / 3}, queries=("q0", "q1", "q2", "q9")
    )
    (pair,) = compare_document([bare, old], TEXTS).pairs
    assert pair.lists is None
    assert pair.notes[:2] == ("1 query is in A only and left out", "1 query is in B only and left out")
    assert pair.notes[-1] == "lists are not compared: there are none for A"
    (pair,) = compare_document([make_scored("means", means={"RR": 0.5}), old], TEXTS).pairs
    assert pair.notes == ("A has means only, so nothing can be tested and no lists are compared",)
    assert (pair.measures[0].difference, pair.lists) == (0.0, None)


def test_whole_lists_are_compared_where_both_runs_have_them() -> None:
    """A baseline file has ten documents for each query: then only ten of the other run's are looked at."""
    ids = tuple(f"d{i}" for i in range(20))
    lists = [ids, (*ids[:10], *(f"e{i}" for i in range(10)))]
    traces = (Trace(query="q0", text="?"),)
    old, new = (
        make_scored(name, values={"RR": values(1.0, 1.0)}, lists={"q0": documents}, traces=traces)
        for name, documents in zip("ab", lists, strict=True)
    )
    (pair,) = compare_document([old, new], TEXTS).pairs
    assert pair.lists is not None
    assert (pair.lists.k, pair.lists.jaccard) == (None, pytest.approx(10 / 30))
    (pair,) = compare_document([replace(old, lists={"q0": ids[:10]}, traces=()), new], TEXTS).pairs
    assert pair.lists is not None
    assert (pair.lists.k, pair.lists.jaccard) == (10, 1.0)
    assert "only the first 10 documents of the lists are compared: a baseline file holds no more" in pair.notes


def test_labels_do_not_run_out() -> None:
    """The first 26 have a letter, the others a letter and a number."""
    labels = [label(place) for place in range(100)]
    assert labels[:3] + labels[25:28] == ["A", "B", "C", "Z", "A1", "B1"]
    assert len(set(labels)) == 100
