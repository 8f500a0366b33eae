"""Sequential tests: the published vectors, brute force with fractions, and what no order, split or look changes."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from each import each
from karat.core import UsageError
from karat.stats import probability_better
from karat.stats._bayes import Successes, probability_most_win
from karat.stats.sequential import (
    BETS,
    Decision,
    StoppingRule,
    Tally,
    assess,
    check_sample_ratio,
    confidence_sequence,
    log_e_above,
    log_e_below,
    plan_sessions,
    read_out,
    trace_log_e,
    wald_sprt,
)
from karat.stats.sequential._planning import _simulate, _tilt
from karat.stats.sequential._ratio import chi_squared_above

VECTORS = {
    "ties": ({0.0: 100}, (0.0, 3.4802, 0.0), (-0.0523, 0.0523), Decision.FUTILE),
    "few": ({0.5: 8, -0.5: 2, 0.0: 90}, (1.2071, 0.5099, -1.1748), (-0.0330, 0.0934), Decision.CONTINUE),
    "mixed": ({0.5: 20, -0.5: 5, -1.0: 1, 0.0: 174}, (1.9560, 0.4548, -1.8099), (-0.0129, 0.0752), Decision.CONTINUE),
    "wins": ({1.0: 5, 0.0: 95}, (2.3076, -0.7352, -1.5988), (-0.0175, 0.1470), Decision.CONTINUE),
    "small": ({1 / 6: 30, 0.0: 220}, (3.0986, 5.4029, -1.4845), (-0.0029, 0.0423), Decision.BELOW),
}
"""Counts; log E+(0), log E-(0.05) and log E-(0); the confidence sequence of 95 %; the decision."""

STEPS = st.integers(-12, 12).map(lambda twelfths: twelfths / 12)
SAMPLES = st.lists(STEPS, min_size=1, max_size=40)
MEANS = st.integers(-9, 9).map(lambda tenths: tenths / 10)


@each("name", VECTORS)
def test_published_vectors(name: str) -> None:
    """Every published digit comes out."""
    counts, logs, interval, decision = VECTORS[name]
    seen = assess(Tally.from_counts(counts))
    assert (seen.log_better, seen.log_below_effect, seen.log_worse) == pytest.approx(logs, abs=5.1e-5)
    assert (seen.low, seen.high) == pytest.approx(interval, abs=5.1e-5)
    assert seen.decision is decision


def product(differences: list[float], mean: Fraction, side: int) -> float:
    """Return log E+ or log E- as the definition has it, multiplied out with fractions."""
    scale = mean + 1 if side > 0 else 1 - mean
    total = Fraction(0)
    for bet in BETS:
        wealth = Fraction(1)
        for difference in differences:
            wealth *= 1 + side * Fraction(str(bet)) / scale * (Fraction(str(round(difference, 9))) - mean)
        total += wealth
    quotient = total / len(BETS)
    return math.log(quotient.numerator) - math.log(quotient.denominator)


@settings(max_examples=25, deadline=None)
@given(differences=SAMPLES, tenths=st.integers(-9, 9))
def test_the_definition_multiplied_out(differences: list[float], tenths: int) -> None:
    """Logarithms lose nothing against products of fractions."""
    tally, mean = Tally.of(differences), tenths / 10
    assert log_e_above(tally, mean) == pytest.approx(product(differences, Fraction(tenths, 10), 1), abs=1e-9)
    assert log_e_below(tally, mean) == pytest.approx(product(differences, Fraction(tenths, 10), -1), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(differences=SAMPLES, cut=st.integers(0, 40), seed=st.integers(0, 999))
def test_neither_order_nor_writers_matter(differences: list[float], cut: int, seed: int) -> None:
    """Any order, kept by any number of processes, is one state; the trace ends where the tally is."""
    shuffled = random.Random(seed).sample(differences, len(differences))
    parts = (Tally.of(shuffled[:cut]), Tally.of(shuffled[cut:]))
    tally = Tally.of(differences)
    assert Tally.merge(parts) == parts[1] + parts[0] == tally
    assert trace_log_e(differences)[-1] == pytest.approx(log_e_above(tally), abs=1e-6)
    assert trace_log_e(np.negative(differences), -0.1)[-1] == pytest.approx(log_e_below(tally, 0.1), abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(differences=SAMPLES, mean=MEANS)
def test_the_interval_holds_what_is_not_refuted(differences: list[float], mean: float) -> None:
    """A mean is inside exactly if its mixed evidence is below 1 / alpha; the mean of the sample always is."""
    tally = Tally.of(differences)
    low, high = confidence_sequence(tally, 0.2)
    evidence = np.logaddexp(log_e_above(tally, mean), log_e_below(tally, mean)) - math.log(2)
    assert tally.mean is not None
    assert -1 <= low <= tally.mean <= high <= 1
    if abs(evidence - math.log(5)) > 1e-6:
        assert (low < mean < high) == (evidence < math.log(5))


def test_the_interval_of_differences_at_a_bound() -> None:
    """Where every difference is as bad as it can be, one end is the bound, and the other is a root."""
    tally = Tally.from_counts({-1: 50})
    low, high = confidence_sequence(tally)
    assert low == -1
    evidence = np.logaddexp(log_e_above(tally, high), log_e_below(tally, high)) - math.log(2)
    assert evidence == pytest.approx(math.log(20), abs=1e-5)
    assert confidence_sequence(Tally.from_counts({1: 50})) == pytest.approx((-high, 1))


def test_decisions() -> None:
    """Harm comes before futility, which it implies; without differences a trial goes on."""
    rule = StoppingRule(effect=0.05)
    assert assess(Tally(), rule).decision is Decision.CONTINUE
    assert assess(Tally.of([-0.5] * 20), rule).decision is Decision.HARM
    assert assess(Tally.of([0.5] * 20), rule).decision is Decision.GRADUATE
    assert assess(Tally.of([0.5] * 20), rule).non_inferior
    assert not assess(Tally(), rule).non_inferior
    assert assess(Tally.from_counts({0: 150}), rule).non_inferior  # nothing changed: no better, and no worse


def test_walds_test_by_hand() -> None:
    """The ratio is (effect / sigma^2) times the sum of d - effect / 2; the bounds are those of 5 % and 20 %."""
    test = wald_sprt(Tally.of([0.5, -0.25, 0.0]), sigma=0.25)
    assert test.log_likelihood_ratio == pytest.approx(0.05 / 0.0625 * (0.25 - 3 * 0.025))
    assert (test.upper, test.lower) == pytest.approx((2.773, -1.558), abs=5e-4)
    assert test.decision is Decision.CONTINUE
    assert wald_sprt(Tally.from_counts({0: 1000}), sigma=0.25).decision is Decision.FUTILE
    assert wald_sprt(Tally(), sigma=0.25).log_likelihood_ratio == 0


@each(("wins", "losses"), [(0, 0), (3, 3), (8, 2), (2, 8), (40, 1), (900, 850), (30_000, 30_500)])
def test_the_posterior_against_scipy(wins: int, losses: int) -> None:
    """P(share of wins > 1/2) with a Beta(1 + wins, 1 + losses) distribution."""
    expected = special.betainc(1 + losses, 1 + wins, 0.5)
    assert probability_most_win(wins, losses) == pytest.approx(expected, abs=1e-9)


def test_read_outs_show_and_do_not_decide() -> None:
    """They have an interval and a probability, and nothing that could be taken for a decision."""
    shown = read_out(Tally.from_counts({0.5: 20, -0.5: 5, 0: 175}), rng=np.random.default_rng(3))
    assert (shown.wins, shown.ties, shown.losses) == (20, 175, 5)
    assert shown.low is not None
    assert shown.low < 0.0375 < (shown.high or 0)
    assert shown.probability_better > 0.99
    assert not any("decision" in name for name in dir(shown))
    assert read_out(Tally.of([1]), rng=np.random.default_rng(3)).low is None
    arms = probability_better(Successes(good=60, tried=100), Successes(good=50, tried=100))
    assert 0.9 < arms < 0.95


@pytest.mark.slow
def test_without_pairs_the_mean_is_shown_and_not_its_signs() -> None:
    """One session beside four: 80 % succeed in both arms, most differences are above 0, and the mean is not."""
    rng = np.random.default_rng(11)
    shares, seen = [], []
    for seed in range(400):
        one, four = rng.random(150) < 0.8, (rng.random((150, 4)) < 0.8).mean(axis=1)
        tally = Tally.of(one - four)
        shown = read_out(tally, rng=np.random.default_rng(seed), resamples=400, pairs=False)
        assert (shown.wins, shown.ties, shown.losses) == (None, None, None)
        shares.append(shown.probability_better)
        mean, error = np.mean(one - four), np.std(one - four) / np.sqrt(150)
        seen.append(stats.norm.cdf(mean / error))
        assert read_out(tally, rng=rng, resamples=10).probability_better > 0.5, "what signs alone would say"
    assert np.mean(np.array(shares) > 0.95) == pytest.approx(0.05, abs=0.025)
    assert np.mean(np.array(shares) < 0.05) == pytest.approx(0.05, abs=0.025)
    assert np.max(np.abs(np.array(shares) - seen)) < 0.12
    single = read_out(Tally.of([1]), rng=rng, pairs=False)
    assert single.probability_better == pytest.approx(0.75, abs=0.05)


@each("counts", [(5200, 4800), (10, 12), (0, 9), (331, 340, 329), (50, 60, 70, 80, 90, 10)])
def test_sample_ratio_against_scipy(counts: tuple[int, ...]) -> None:
    """Pearson's statistic and its probability, also with unequal shares."""
    names = [f"v{i}" for i in range(len(counts))]
    shares = {name: 1.0 + i for i, name in enumerate(names)}
    expected = np.array([*shares.values()]) / sum(shares.values()) * sum(counts)
    oracle = stats.chisquare(counts, expected)
    seen = check_sample_ratio(dict(zip(names, counts, strict=True)), shares)
    assert (seen.chi_squared, seen.p) == pytest.approx((oracle.statistic, oracle.pvalue), rel=1e-9, abs=1e-300)
    assert seen.mismatched == (oracle.pvalue < 0.001)


@each("df", [1, 2, 3, 4, 7, 10])
def test_chi_squared_against_scipy(df: int) -> None:
    """Closed forms for odd and even degrees of freedom, far into the tail."""
    for x in (0.0, 0.01, 1.0, 5.0, 40.0, 300.0):
        assert chi_squared_above(x, df) == pytest.approx(stats.chi2.sf(x, df), rel=1e-10)


def test_no_units_are_no_mismatch() -> None:
    """Before the first unit the shares are what they should be."""
    assert check_sample_ratio({}, {"a": 1, "b": 1}).p == 1


def test_planned_trials_have_the_planned_effect() -> None:
    """Probabilities by hand: with weights 1, 9.2376 and 1, a slope of log 3 makes them .05, .8 and .15."""
    values, chances = _tilt(Tally.from_counts({0.5: 20_000, 0: 92_376}), 0.05)
    assert values.tolist() == [-0.5, 0, 0.5]
    assert chances.tolist() == pytest.approx([0.05, 0.8, 0.15], abs=1e-6)


@pytest.mark.slow
def test_simulated_trials_end_when_the_evidence_is_enough() -> None:
    """With equal differences all end at the same session; a spread has its quantiles; without an effect few end."""
    path = trace_log_e([0.125] * 600)
    first = int((path >= math.log(20)).argmax()) + 1
    ends = _simulate(np.array([0.125]), np.array([1.0]), math.log(20), np.random.default_rng(1), 600, 3)
    assert ends.tolist() == [first] * 3
    earlier = Tally.from_counts({0.5: 20_000, 0: 92_376})
    plan = plan_sessions(earlier, 0.05, rng=np.random.default_rng(2))
    assert plan.half == pytest.approx(129, rel=0.12)  # what tests/calibration finds for the same distribution
    assert plan.half is not None
    assert plan.half < (plan.most_of_them or 0) < (plan.nearly_all or 0)
    assert plan.sd == pytest.approx(math.sqrt(0.05 - 0.0025))
    none = plan_sessions(earlier, 0, rng=np.random.default_rng(3), most=1_000)
    assert (none.half, none.nearly_all) == (None, None)
    assert none.found < 0.05


def test_what_is_refused() -> None:
    """What is no difference, no level, no share."""
    for bad in (1.5, -1.01, math.nan, math.inf):
        with pytest.raises(UsageError, match="not between -1 and 1"):
            Tally.of([0, bad])
    with pytest.raises(UsageError, match="a count of -1"):
        Tally.from_counts({0.5: -1})
    with pytest.raises(UsageError, match="not between"):
        trace_log_e([0, 2])
    with pytest.raises(UsageError, match="a mean of 1"):
        log_e_above(Tally(), 1)
    with pytest.raises(UsageError, match="alpha"):
        StoppingRule(alpha=0)
    with pytest.raises(UsageError, match="effect"):
        StoppingRule(effect=0)
    with pytest.raises(UsageError, match="sigma"):
        wald_sprt(Tally(), sigma=0)
    for effect in (-0.1, 0.5, 0.7):
        with pytest.raises(UsageError, match="cannot be simulated"):
            plan_sessions(Tally.of([0.5, 0]), effect, rng=np.random.default_rng(1))
    with pytest.raises(UsageError, match="cannot be simulated"):
        plan_sessions(Tally(), 0.1, rng=np.random.default_rng(1))
    with pytest.raises(UsageError, match="1 or more of each"):
        plan_sessions(Tally.of([0.5, 0]), 0.1, rng=np.random.default_rng(1), most=0)
    with pytest.raises(UsageError, match="'c' has units"):
        check_sample_ratio({"c": 1}, {"a": 1, "b": 1})
    with pytest.raises(UsageError, match="two variants"):
        check_sample_ratio({"a": 1}, {"a": 1})
    with pytest.raises(UsageError, match="negative"):
        check_sample_ratio({"a": -1}, {"a": 1, "b": 1})
