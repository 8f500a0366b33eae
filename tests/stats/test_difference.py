"""How sure a difference is while only some documents are judged."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, norm

from karat.core import UsageError
from karat.stats import estimate_difference

NAN = math.nan


def test_by_hand() -> None:
    """Of two judged documents one is relevant, so that p = 2/4; the others weigh 0.5 and -0.25."""
    estimate = estimate_difference([1.0, -0.5, 0.5, -0.25], [1.0, 0.0, NAN, NAN])
    assert estimate.mean == pytest.approx(1.0 + 0.5 * 0.25)
    doubt = 0.25 / 5 * 0.25**2  # the variance of p by Laplace's rule, for a sum of weights of 0.25
    assert estimate.sd == pytest.approx(math.sqrt(0.25 * (0.25 + 0.0625) + doubt))


def test_graded_gains_have_the_mean_and_the_variance_of_those_judged() -> None:
    """Judged are 3 and 1; with 0 and 3 their mean is 7/4, and their variance 19/4 - 49/16."""
    estimate = estimate_difference([0.0, 0.0, 2.0], [3.0, 1.0, NAN], highest=3.0)
    assert estimate.mean == pytest.approx(3.5)
    # The share with a gain is 3/4, with the variance of a beta distribution of 3 and 1; such a gain is 7/3.
    assert estimate.sd == pytest.approx(2 * math.sqrt(19 / 4 - 49 / 16 + (3 / 16 / 5) * (7 / 3) ** 2))


@given(
    st.lists(
        st.tuples(st.floats(-1, 1, allow_subnormal=False), st.sampled_from([0.0, 1.0, NAN])), min_size=1, max_size=12
    )
)
def test_mean_and_spread_are_those_of_the_paper_with_the_doubt_of_the_share(rows: list[tuple[float, float]]) -> None:
    """p = (relevant + 1) / (judged + 2) is the mean of a beta distribution, of which SciPy knows the variance."""
    weights, gains = (np.array(column) for column in zip(*rows, strict=True))
    judged = gains[~np.isnan(gains)]
    p = (judged.sum() + 1) / (len(judged) + 2)
    open_ = weights[np.isnan(gains)]
    mean = np.nansum(weights * gains) + p * open_.sum()
    doubt = beta.var(judged.sum() + 1, len(judged) - judged.sum() + 1)
    sd = math.sqrt(p * (1 - p) * (open_**2).sum() + doubt * open_.sum() ** 2)
    estimate = estimate_difference(weights, gains)
    assert (estimate.mean, estimate.sd) == pytest.approx((mean, sd), abs=1e-12)
    assert (estimate.judged, estimate.share) == pytest.approx((np.nansum(weights * gains), p), abs=1e-12)


def test_the_confidence_is_the_least_over_all_shares() -> None:
    """NumPy and SciPy try ten thousand shares of unjudged documents, from none to the highest that was judged."""
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(60):
        weights = rng.normal(size=240)
        gains = (rng.random(240) < rng.uniform(0.2, 0.7)) * np.where(rng.random(240) < 0.5, 1.0, 3.0)
        gains[rng.random(240) < 0.5] = NAN
        estimate = estimate_difference(weights, gains, 3.0)
        positive = np.append(gains[gains > 0], 3.0)
        open_, share = weights[np.isnan(gains)], np.linspace(0, estimate.highest_share, 10_001)[1:]
        mean = abs(estimate.judged) + np.sign(estimate.judged) * share * positive.mean() * open_.sum()
        sd = np.sqrt((share * (positive**2).mean() - (share * positive.mean()) ** 2) * (open_**2).sum())
        assert estimate.confidence == pytest.approx(max(0.5, norm.cdf(mean / sd).min()), abs=1e-4)
        compared += estimate.confidence > 0.5
    assert compared > 20


def test_the_highest_share_is_the_upper_limit_of_the_side_that_is_better() -> None:
    """Wilson's limit by SciPy: 15 of 20 on one side, 5 of 20 on the other, each of the same weight."""
    gains = [1.0] * 15 + [0.0] * 5 + [1.0] * 5 + [0.0] * 15 + [NAN]
    estimate = estimate_difference([0.5] * 20 + [-0.5] * 20 + [0.25], gains)
    limit = binomtest(15, 20, alternative="less").proportion_ci(0.95, method="wilson").high
    assert estimate.highest_share == pytest.approx(limit, abs=1e-4)


@pytest.mark.parametrize(("zeros", "known"), [(4, False), (5, True)])
def test_few_documents_without_a_gain_tell_nothing_of_the_rest(zeros: int, known: bool) -> None:
    """Of one run all that is judged is good, of the other few things are known to be bad: no confidence."""
    weights = np.array([1.0] * 60 + [1.0] * zeros + [-1.0] * 20 + [0.5, -0.5] * 200)
    gains = [1.0] * 60 + [0.0] * (zeros + 20) + [NAN] * 400
    assert (estimate_difference(weights, gains).confidence > 0.5) == known


def test_what_unknown_gains_cannot_turn_is_certain() -> None:
    """Whatever the last two are, the first run is behind by 0.25 or more."""
    estimate = estimate_difference([1.0, -0.5, -0.25, 0.25], [1.0, NAN, NAN, NAN])
    assert (estimate.judged, estimate.confidence) == (1.0, 1.0)


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
