"""Quantiles: NumPy's, to the last bit."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karat.stats import quantiles

NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.integers(0, 4).map(float), min_size=1, max_size=40)
SHARES = st.lists(st.floats(0, 1) | st.sampled_from([0.025, 0.5, 0.95, 0.975, 0.99, 1.0]), max_size=5)


def test_by_hand() -> None:
    """Between the second and the third of four values, a quarter of the way."""
    assert quantiles([40.0, 10.0, 30.0, 20.0], [1.25 / 3]) == [22.5]
    assert quantiles([7.0], [0.0, 0.3, 1.0]) == [7.0, 7.0, 7.0]


@given(NUMBERS, SHARES)
def test_they_are_those_of_numpy(values: list[float], shares: list[float]) -> None:
    """Bit for bit, so that no interval or percentile of an old file changes."""
    assert quantiles(values, shares) == np.quantile(values, shares).tolist()


def test_a_value_that_is_not_a_number_spoils_all() -> None:
    """It could stand anywhere."""
    assert all(map(math.isnan, quantiles([1.0, math.nan, 2.0], [0.0, 1.0])))
