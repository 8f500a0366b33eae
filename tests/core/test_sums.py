"""Sums that are rounded once, against Python's own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core._sums import sum_exactly

FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(FLOATS, min_size=1, max_size=30), st.integers(40, 80))
def test_any_finite_numbers_have_the_sum_of_fsum(numbers: list[float], times: int) -> None:
    """Exponents from the smallest to very large ones, signs that cancel, and repeats of each."""
    many = np.array(numbers * times + [0.0] * 1_000)
    assert sum_exactly(many) == math.fsum(many.tolist())


@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e300])
def test_random_numbers_have_the_sum_of_fsum(scale: float) -> None:
    """Of 5,000 numbers with all digits, among them such as are below the least with all digits."""
    numbers = np.random.default_rng(1).normal(size=5_000) * scale
    assert sum_exactly(numbers) == math.fsum(numbers.tolist())


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_stays_so(odd: float) -> None:
    """As with fsum."""
    assert repr(sum_exactly(np.array([odd] + [1.0] * 2_000))) == repr(odd)
