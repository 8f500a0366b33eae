"""Sums that are rounded once, against Python's own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core import ExactSum
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


@given(st.lists(FLOATS, max_size=30), st.integers(0, 30))
def test_exact_sums_of_parts_add_up(numbers: list[float], cut: int) -> None:
    """In any order, one by one or as arrays, and written down in between."""
    parts = [ExactSum(), ExactSum()]
    parts[0].add_all(np.array(numbers[:cut]))
    for number in reversed(numbers[cut:]):
        parts[1].add(number)
    parts[1].merge(ExactSum.from_plain(parts[0].to_plain()))
    assert parts[1].value == math.fsum(numbers)


def test_exact_sums_have_no_limits() -> None:
    """The smallest numbers are exact, sums too large are infinite, and what is not finite stays so."""
    small = ExactSum()
    small.add_all(np.array([5e-324] * 3 + [1.0, -1.0]))
    assert small.value == 1.5e-323
    for sign in (1, -1):
        large = ExactSum()
        large.add_all(np.array([sign * 1.7e308] * 2))
        assert large.value == sign * math.inf
    odd = ExactSum()
    odd.add_all(np.array([math.inf, 1.0]))
    assert odd.value == math.inf
    odd.add(-math.inf)
    assert math.isnan(odd.value)
