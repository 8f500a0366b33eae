"""The order of the tests keeps every worker busy until the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dealing import deal


def test_each_worker_begins_with_slow_tests_and_ends_with_quick_ones() -> None:
    """Groups of slow tests go around the workers, and quick ones fill up parts of equal length."""
    slow = [["a1", "a2"], ["b1"], ["c1"]]
    assert deal(slow, list("123456"), workers=2) == ["a1", "a2", "c1", "1", "2", "b1", "3", "4", "5", "6"]
    assert deal(slow, list("123456"), workers=1) == ["a1", "a2", "b1", "c1", *"123456"]


@given(st.lists(st.lists(st.integers(), max_size=5), max_size=6), st.lists(st.integers()), st.integers(1, 5))
def test_no_test_is_lost_or_run_twice(slow: list[list[int]], quick: list[int], workers: int) -> None:
    """All are there, however few there are."""
    tests = [test for group in slow for test in group] + quick
    assert sorted(deal(slow, quick, workers=workers)) == sorted(tests)
