"""Student's t against closed forms, SciPy, and itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from each import each
from karat.stats._student import above, critical, gamma_ratio
from strategies import quick

T = [1e-3, 0.1, 0.5, 0.999, 1.0, 1.001, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0]


@each("t", [1e-8, *T])
def test_one_and_two_degrees_of_freedom_have_closed_forms(t: float) -> None:
    """With one degree of freedom P is an arcus tangent, with two a root, to 14 digits."""
    assert above(t, 1) == pytest.approx(0.5 - math.atan(t) / math.pi, rel=2e-14)
    assert above(t, 2) == pytest.approx(1 / (2 + t * t + t * math.sqrt(2 + t * t)), rel=2e-14)


@each("df", [1, 2, 3, 4, 10, 29, 79, 80, 299, 6979, 10**5, 10**6])
def test_probabilities_are_those_of_scipy(df: int) -> None:
    """Both tails are SciPy's to twelve digits, far out too, for few degrees of freedom and for a million."""
    for t in T:
        assert above(t, df) == pytest.approx(float(stats.t.sf(t, df)), rel=1e-12)
        assert above(-t, df) == pytest.approx(float(stats.t.cdf(t, df)), rel=1e-12)


@each("df", [1, 2, 5, 29, 300, 10**6])
@each("tail", [0.49, 0.2, 0.05, 0.025, 0.001, 1e-8])
def test_quantiles_are_those_of_scipy(df: int, tail: float) -> None:
    """The value that is exceeded with a probability is SciPy's to eleven digits."""
    assert critical(df, tail) == pytest.approx(float(stats.t.isf(tail, df)), rel=1e-11)


@quick
@given(t=st.floats(-40, 40), df=st.integers(1, 10**7))
def test_the_tails_add_up_to_one(t: float, df: int) -> None:
    """P(T > t) and P(T > -t) add up to 1, and farther out is rarer."""
    assert above(t, df) + above(-t, df) == pytest.approx(1, abs=1e-14)
    assert above(t + 0.01, df) <= above(t, df)


@quick
@given(a=st.floats(0.5, 1e6))
def test_the_ratio_of_gammas(a: float) -> None:
    """gamma(a + 1/2) / gamma(a) times its successor is a, on either side of where the series takes over."""
    assert gamma_ratio(a) * gamma_ratio(a + 0.5) == pytest.approx(a, rel=1e-13)
