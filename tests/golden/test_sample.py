"""Samples that stand for the whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core import Document, GoldenSet, Judgment, Query, Target, UsageError
from karat.golden import sample


def make(categories):
    queries = tuple(Query(id=f"q{i}", text="?", category=c) for i, c in enumerate(categories))
    judgments = tuple(Judgment(query=q.id, target=Target(document="d"), grade=1) for q in queries)
    return GoldenSet(documents=(Document(id="d"),), queries=queries, judgments=judgments)


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=60), st.data(), st.integers())
def test_every_group_keeps_its_share(categories, data, seed):
    """Each group has its proportional number of places, rounded up or down, and n queries come out in all."""
    n = data.draw(st.integers(1, len(categories)))
    drawn = sample(make(categories), n, stratify="category", seed=seed)
    counts, sizes = Counter(q.category for q in drawn.queries), Counter(categories)
    assert sum(counts.values()) == n
    for name, size in sizes.items():
        exact = size * n / len(categories)
        assert int(exact) <= counts[name] <= int(exact) + 1
    assert {j.query for j in drawn.judgments} == {q.id for q in drawn.queries}
    assert len(drawn.documents) == 1


def test_the_seed_decides_and_the_order_does_not():
    """The same seed draws the same queries from a set whose rows were shuffled; another seed draws others."""
    golden = make("a" * 50)
    turned = replace(golden, queries=golden.queries[::-1])
    first = {q.id for q in sample(golden, 10, seed=1).queries}
    assert first == {q.id for q in sample(turned, 10, seed=1).queries}
    assert first != {q.id for q in sample(golden, 10, seed=2).queries}


@pytest.mark.slow
def test_every_query_is_as_likely():
    """Over many seeds each of twenty queries is drawn about every fourth time."""
    counts = Counter(q.id for seed in range(2000) for q in sample(make("a" * 20), 5, seed=seed).queries)
    assert min(counts.values()) > 500 - 5 * 20  # five standard deviations
    assert max(counts.values()) < 500 + 5 * 20


@pytest.mark.parametrize(("n", "stratify"), [(0, None), (4, None), (1, "colour")])
def test_what_cannot_be_drawn_is_refused(n, stratify):
    """More queries than there are, none, or a field that queries lack."""
    with pytest.raises(UsageError):
        sample(make("abc"), n, stratify=stratify)
