"""Classes of similarity, two lists compared in all respects, and the summary over queries."""

from __future__ import annotations

import math
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from each import each
from karat.core import UsageError
from karat.stats.ranks import (
    jaccard,
    kendall_tau,
    order_differences,
    rank_similarity,
    rbo,
    similarity_class,
    spearman,
    summarise_ranks,
    top1_changed,
)
from strategies import quick

rankings = st.lists(st.integers(0, 11), unique=True, max_size=10)
CLASSES = ("identical", "minor", "major", "incompatible")


def source_class(tau: float, overlap: float, *, changed: bool) -> str:
    """Return the class as agent computes it."""
    if tau >= 0.99 and overlap >= 0.95:
        return "identical"
    if tau >= 0.95 and not changed:
        return "minor"
    return "major" if tau >= 0.85 else "incompatible"


@each(
    ("tau", "overlap", "changed", "rr_delta", "expected"),
    [
        (0.99, 0.95, False, None, "identical"),
        (0.9899, 0.95, False, None, "minor"),
        (0.99, 0.9499, False, None, "minor"),
        (0.95, 0.70, False, None, "minor"),
        (0.9499, 0.70, False, None, "major"),
        (0.85, 0.70, False, None, "major"),
        (0.85, 0.70, True, None, "major"),
        (0.8499, 1.0, False, None, "incompatible"),
        (1.0, 0.6999, False, None, "incompatible"),
        (1.0, 1.0, True, None, "major"),
        (1.0, 1.0, False, 0.03, "identical"),
        (1.0, 1.0, False, -0.0301, "major"),
        (0.96, 0.8, False, 0.0301, "major"),
        (-1.0, 0.0, True, -1.0, "incompatible"),
    ],
)
def test_the_limits_of_the_classes(
    tau: float, overlap: float, changed: bool, rr_delta: float | None, expected: str
) -> None:
    """Each limit belongs to the better class, and all of tau, overlap, first id and reciprocal rank can lower it."""
    assert similarity_class(tau=tau, overlap=overlap, top1_changed=changed, rr_delta=rr_delta) == expected


def test_two_shared_ids_are_not_a_minor_difference() -> None:
    """Lists of ten that share two ids in the same order: minor for the source's rule on shared ids, not for ours."""
    first, second = list("abcdefghij"), list("abKLMNOPQR")
    assert source_class(kendall_tau(list("ab"), list("ab")), jaccard(first, second), changed=False) == "minor"
    assert rank_similarity(first, second).similarity_class == "incompatible"
    assert similarity_class(tau=1.0, overlap=jaccard(first, second), top1_changed=False) == "incompatible"


def test_another_first_hit_is_always_flagged() -> None:
    """In a list of a hundred the first two trade places: identical for the source's rule, not for ours."""
    first = list(range(100))
    second = [1, 0, *range(2, 100)]
    similarity = rank_similarity(first, second)
    assert source_class(similarity.kendall_tau, similarity.jaccard, changed=True) == "identical"
    assert similarity.similarity_class == "major"


@each(
    ("second", "expected"),
    [
        ("abcdefghij", "identical"),
        ("abcdefghji", "minor"),  # tau = 43/45
        ("abcdefghiX", "minor"),  # tau = 53/55, overlap 9/11
        ("bacdefghij", "major"),
        ("abcdefgjhi", "major"),  # tau = 41/45
        ("abcdefghXY", "incompatible"),  # overlap 8/12
        ("jihgfedcba", "incompatible"),
        ("", "incompatible"),
    ],
)
def test_classes_of_lists_of_ten(second: str, expected: str) -> None:
    """What the classes mean for ten hits: one swap or one new hit below the top is minor, two new ones are too many."""
    assert rank_similarity(list("abcdefghij"), list(second)).similarity_class == expected


@quick
@given(st.floats(-1, 1), st.floats(0, 1), st.booleans(), st.none() | st.floats(-1, 1))
def test_no_class_is_better_than_the_source_says(
    tau: float, overlap: float, changed: bool, rr_delta: float | None
) -> None:
    """What the source left unused can only make two lists more different, and does so by whole conditions."""
    ours = similarity_class(tau=tau, overlap=overlap, top1_changed=changed, rr_delta=rr_delta)
    assert CLASSES.index(ours) >= CLASSES.index(source_class(tau, overlap, changed=changed))
    if overlap >= 0.95 and not changed and rr_delta is None:
        assert ours == source_class(tau, overlap, changed=changed)


@each("wrong", [{"tau": math.nan}, {"tau": 1.1}, {"overlap": -0.1}, {"overlap": math.nan}, {"rr_delta": math.nan}])
def test_what_is_no_number_has_no_class(wrong: dict[str, float]) -> None:
    """A value that was not measured does not pass as a good one."""
    values: dict[str, float] = {"tau": 1.0, "overlap": 1.0}
    with pytest.raises(UsageError, match="between -1 and 1"):
        similarity_class(**(values | wrong), top1_changed=False)


@quick
@given(rankings, rankings, st.none() | st.integers(1, 11))
def test_all_at_once_is_each_alone(first: list[int], second: list[int], k: int | None) -> None:
    """The value holds what the functions give for the lists cut at k."""
    similarity = rank_similarity(first, second, k=k, p=0.8)
    top, other = first[:k], second[:k]
    assert similarity.rbo == rbo(top, other, 0.8)
    assert similarity.kendall_tau == kendall_tau(top, other)
    assert similarity.spearman == spearman(top, other)
    assert similarity.jaccard == jaccard(first, second, k) == jaccard(top, other)
    assert similarity.top1_changed == top1_changed(first, second)
    assert (similarity.first, similarity.second, similarity.shared) == (len(top), len(other), len({*top} & {*other}))
    directions = [change.direction for change in order_differences(top, other)]
    assert similarity.order_differences == len(directions)
    for direction in ("entered", "left", "up", "down"):
        assert getattr(similarity, direction) == directions.count(direction)


def test_the_class_hears_of_the_judgments() -> None:
    """With the difference of reciprocal ranks a list that hardly changed is a major difference."""
    first, second = list("abcdefghij"), list("abcdefghji")
    assert rank_similarity(first, second).similarity_class == "minor"
    assert rank_similarity(first, second, rr_delta=-1 / 90).similarity_class == "minor"
    assert rank_similarity(first, second, rr_delta=1 / 9).similarity_class == "major"


def test_a_summary_by_hand() -> None:
    """Five queries: the same, the first two swapped, nothing in common, one without hits, none with."""
    lists = [("abc", "abc"), ("abc", "bac"), ("a", "b"), ("ab", ""), ("", "")]
    summary = summarise_ranks(rank_similarity(list(a), list(b)) for a, b in lists)
    assert summary.queries == 5
    assert summary.rbo == pytest.approx((1 + 0.9 + 0 + 0 + 1) / 5)
    assert summary.kendall_tau == pytest.approx((1 + 1 / 3 - 1 + 0 + 1) / 5)
    assert summary.spearman == pytest.approx((1 + 1 / 2 - 1 + 0 + 1) / 5)
    assert summary.jaccard == pytest.approx(3 / 5)
    assert (summary.top1_changed, summary.top1_changed_share) == (3, 0.6)
    assert (summary.unchanged, summary.both_empty, summary.one_empty) == (2, 1, 1)
    assert summary.classes == {"identical": 2, "minor": 0, "major": 0, "incompatible": 3}


def test_a_summary_of_nothing() -> None:
    """Without queries there are counts of 0, and no mean that could be taken for a result."""
    summary = summarise_ranks([])
    assert summary.queries == 0
    assert all(math.isnan(x) for x in (summary.rbo, summary.kendall_tau, summary.spearman, summary.jaccard))
    assert math.isnan(summary.top1_changed_share)
    assert summary.classes == dict.fromkeys(CLASSES, 0)


def test_a_summary_of_different_cuts_is_refused() -> None:
    """A mean over values that mean different things is no mean."""
    lists = list("abc"), list("acb")
    with pytest.raises(UsageError, match="no common mean"):
        summarise_ranks([rank_similarity(*lists), rank_similarity(*lists, k=2)])
    with pytest.raises(UsageError, match="no common mean"):
        summarise_ranks([rank_similarity(*lists), rank_similarity(*lists, p=0.5)])


@quick
@given(st.lists(st.tuples(rankings, rankings), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_matter(
    lists: list[tuple[list[int], list[int]]], shuffler: random.Random
) -> None:
    """A summary is the same to the last bit in any order, and counts every query in one class."""
    each = [rank_similarity(first, second) for first, second in lists]
    summary = summarise_ranks(each)
    assert sum(summary.classes.values()) == summary.queries == len(lists)
    shuffler.shuffle(each)
    assert repr(summarise_ranks(each)) == repr(summary)


def test_many_queries_take_little_time() -> None:
    """A thousand queries of a hundred hits took 0.1 CPU seconds when written; 2 are allowed."""
    rng = random.Random(1)
    ids = [f"document-{i}" for i in range(200)]
    lists = [(rng.sample(ids, 100), rng.sample(ids, 100)) for _ in range(1000)]
    start = time.process_time()
    summarise_ranks(rank_similarity(first, second) for first, second in lists)
    assert time.process_time() - start < 2
