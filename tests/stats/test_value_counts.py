"""Quantiles from counts of values: NumPy's, whatever the order and parts, in a bounded amount of memory."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karat.stats import ValueCounts

VALUES = st.lists(st.floats(0, 1e6) | st.sampled_from((0.0, 1.0, 2.0)), min_size=1, max_size=40)
SHARES = (0.0, 0.25, 0.5, 0.95, 0.99, 1.0)


def count(values: list[float], most: int = 65_536) -> ValueCounts:
    counts = ValueCounts(most)
    counts.extend(values)
    return counts


@given(VALUES)
def test_quantiles_are_those_of_numpy(values: list[float]) -> None:
    """To the last bit, and so is the median."""
    counts = count(values)
    assert counts.quantiles(SHARES) == np.quantile(values, SHARES).tolist()
    assert counts.median() == np.median(values)
    assert len(counts) == len(values)


@given(VALUES, st.integers(0, 40), st.integers(1, 10), st.randoms(use_true_random=False))
def test_parts_add_up_in_any_order(values: list[float], cut: int, most: int, draw: object) -> None:
    """Also when more values come than are told apart: what is left depends on all of them, not on which came first."""
    whole = count(values, most)
    shuffled = list(values)
    draw.shuffle(shuffled)  # type: ignore[attr-defined]
    second = count(shuffled[cut:], most)
    second.merge(ValueCounts.from_plain(count(shuffled[:cut], most).to_plain()))
    assert second.to_plain() == whole.to_plain()
    assert whole.digits == 53 or len(set(values)) > most


def test_many_values_lose_digits_and_little_else() -> None:
    """A hundred thousand different latencies in 4,096 counts: the error is half of the last digit that is known."""
    values = np.random.default_rng(1).lognormal(3, 1, 100_000)
    counts = count(values.tolist(), 4_096)
    assert counts.held <= 4_096
    assert counts.digits < 14
    exact = np.quantile(values, SHARES[1:5])
    assert np.abs(np.array(counts.quantiles(SHARES[1:5])) / exact - 1).max() < 2.0 ** -(counts.digits - 1)
    assert len(counts) == 100_000


def test_nothing_and_the_extremes() -> None:
    """Nothing has no quantile; zeros and infinities stay what they are."""
    assert math.isnan(ValueCounts().median())
    assert math.isnan(ValueCounts().quantiles([0.5])[0])
    counts = count([0.0, math.inf, *(1.1**n for n in range(50))], 4)
    assert counts.quantiles([0.0]) == [0.0]
    assert counts.quantiles([1.0]) == [math.inf]
