"""How sure a difference is while only some documents are judged."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from karat.core import UsageError
from karat.stats import estimate_difference

NAN = math.nan


def test_by_hand() -> None:
    """Of two judged documents one is relevant, so that p = 2/4; the others weigh 0.5 and -0.25."""
    estimate = estimate_difference([1.0, -0.5, 0.5, -0.25], [1.0, 0.0, NAN, NAN])
    assert estimate.mean == pytest.approx(1.0 + 0.5 * 0.25)
    assert estimate.sd == pytest.approx(math.sqrt(0.25 * (0.25 + 0.0625)))


def test_graded_gains_have_the_mean_and_the_variance_of_those_judged() -> None:
    """Judged are 3 and 1; with 0 and 3 their mean is 7/4, and their variance 19/4 - 49/16."""
    estimate = estimate_difference([0.0, 0.0, 2.0], [3.0, 1.0, NAN], highest=3.0)
    assert estimate.mean == pytest.approx(3.5)
    assert estimate.sd == pytest.approx(2 * math.sqrt(19 / 4 - 49 / 16))


@given(
    st.lists(
        st.tuples(st.floats(-1, 1, allow_subnormal=False), st.sampled_from([0.0, 1.0, NAN])), min_size=1, max_size=12
    )
)
def test_the_confidence_is_that_of_a_normal_distribution(rows: list[tuple[float, float]]) -> None:
    """By SciPy, from the formulas of the paper with p = (relevant + 1) / (judged + 2)."""
    weights, gains = (np.array(column) for column in zip(*rows, strict=True))
    judged = gains[~np.isnan(gains)]
    p = (judged.sum() + 1) / (len(judged) + 2)
    open_ = weights[np.isnan(gains)]
    mean = np.nansum(weights * gains) + p * open_.sum()
    sd = math.sqrt(p * (1 - p) * (open_**2).sum())
    estimate = estimate_difference(weights, gains)
    assert (estimate.mean, estimate.sd) == pytest.approx((mean, sd), abs=1e-12)
    if sd > 1e-6:
        assert estimate.confidence == pytest.approx(norm.cdf(abs(mean) / sd), abs=1e-9)


@pytest.mark.parametrize(("weights", "confidence"), [([1.0, -0.5], 1.0), ([0.5, -0.5], 0.5), ([], 0.5)])
def test_what_is_all_judged_is_known(weights: list[float], confidence: float) -> None:
    assert estimate_difference(weights, [1.0] * len(weights)).confidence == confidence


def test_swapping_the_runs_changes_the_sign_only() -> None:
    gains = [1.0, 0.0, NAN, NAN]
    one, other = (estimate_difference(sign * np.array([0.6, -0.4, 0.9, -0.1]), gains) for sign in (1, -1))
    assert (one.mean, one.sd, one.confidence) == (-other.mean, other.sd, other.confidence)


@pytest.mark.parametrize(
    ("weights", "gains", "why"),
    [([1.0], [1.0, 0.0], "1 weights and 2 gains"), ([math.inf], [1.0], "finite"), ([1.0], [math.inf], "finite")],
)
def test_what_makes_no_sum_is_refused(weights: list[float], gains: list[float], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        estimate_difference(weights, gains)
