"""The sign-flip test against enumeration by hand, SciPy's permutation test, and properties."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import differences, drawn
from scipy import stats

from each import each
from karat.core import UsageError
from karat.stats import permutation
from karat.stats._permutation import EXACT
from karat.stats._sample import Alternative
from strategies import quick, thorough

ALTERNATIVES: list[Alternative] = ["two-sided", "less", "greater"]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def flipped(values: Sequence[float], alternative: Alternative) -> float:
    """Return p by trying all signs of all values, zeros too, and adding exactly."""
    total = math.fsum(values)
    sums = [math.fsum(s * v for s, v in zip(signs, values, strict=True)) for signs in _signs(len(values))]
    far = {
        "less": lambda value: value <= total + 1e-9,
        "greater": lambda value: value >= total - 1e-9,
        "two-sided": lambda value: abs(value) >= abs(total) - 1e-9,
    }[alternative]
    return sum(map(far, sums)) / len(sums)


def _signs(n: int) -> list[tuple[int, ...]]:
    return list(itertools.product((-1, 1), repeat=n))


def test_by_hand() -> None:
    """Of the eight ways to sign 1, 2, 3 one is as low as -6, two are as far out, and all are at most 6."""
    assert permutation([-1, -2, -3], rng=rng(), alternative="less").p == 1 / 8
    assert permutation([-1, -2, -3], rng=rng(), alternative="two-sided").p == 2 / 8
    assert permutation([-1, -2, -3], rng=rng(), alternative="greater").p == 1
    assert permutation([-1, 2, -3], rng=rng(), alternative="less").p == 3 / 8  # -6, -4, -2; the observed sum is -2


def test_sums_that_are_equal_but_for_rounding() -> None:
    """0.1 + 0.2 and 0.3 are one sum, also where clusters add up to it."""
    values = [0.1, 0.2, -0.3, 1 / 3]
    assert 0.1 + 0.2 - 0.3 != 0
    assert permutation(values, rng=rng(), alternative="less").p == flipped(values, "less")
    assert permutation([0.1, 0.2, -0.3], rng=rng()).p == 1
    assert permutation([0.1, 0.7, -0.8], rng=rng(), clusters=["a", "a", "a"]).changed == 0


@quick
@given(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, -0.1, 0.7, -1 / 3, 1 / 6, -0.5]), min_size=1, max_size=9))
def test_every_p_is_that_of_all_signs(values: list[float]) -> None:
    """Zeros change nothing, ties count, and the numbers are those of a plain enumeration."""
    for alternative in ALTERNATIVES:
        assert permutation(values, rng=rng(), alternative=alternative).p == flipped(values, alternative)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 5, 12])
def test_exact_p_is_that_of_scipy(n: int, alternative: Alternative) -> None:
    """SciPy's permutation test of samples, which tries all signs, gives the same p."""
    values = rng(n).normal(-0.1, 0.3, n)
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", alternative=alternative, n_resamples=np.inf, vectorized=True
    )
    ours = permutation(values, rng=rng(), alternative=alternative)
    assert ours.exact
    assert ours.p == pytest.approx(float(theirs.pvalue), abs=1e-15)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_drawn_p_is_near_the_exact_one(alternative: Alternative) -> None:
    """With 20 differences, 400,000 flips come within four standard errors of all 1,048,576."""
    values = rng(20).normal(-0.08, 0.3, 20)
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums - value, sums + value])
    total = values.sum()
    exact = {"less": sums <= total, "greater": sums >= total, "two-sided": np.abs(sums) >= abs(total)}[
        alternative
    ].mean()
    result = permutation(values, rng=rng(), resamples=400_000, alternative=alternative)
    assert not result.exact
    assert result.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 400_000))


def test_sixteen_are_tried_and_seventeen_are_drawn() -> None:
    """Up to 16 non-zero differences all ways are tried; zeros do not count."""
    few, many = [0.1] * EXACT + [0.0] * 100, [0.1] * (EXACT + 1)
    result = permutation(few, rng=rng(), alternative="greater")
    assert (result.exact, result.resamples, result.changed, result.n, result.p) == (True, 65_536, 16, 116, 1 / 65_536)
    result = permutation(many, rng=rng(), alternative="greater", resamples=99)
    assert (result.exact, result.resamples, result.changed, result.p) == (False, 99, 17, 1 / 100)


def test_an_exact_p_uses_no_randomness() -> None:
    """The generator is left as it was."""
    generator = rng()
    permutation([0.1] * 16, rng=generator)
    assert generator.bit_generator.state == rng().bit_generator.state


@each("resamples", [1, 7, 8, 9_999, 70_000])
@each("n", [17, 24, 25, 600, 1_000])
def test_a_drawn_p_counts_the_observed_one(n: int, resamples: int) -> None:
    """Where no flip is as far out, p is 1 / (resamples + 1); where all are, it is 1."""
    values = np.full(n, -0.01)
    values[0] = -n  # outweighs all others: half of the flips are as far on one side
    assert permutation(np.full(n, -1.0), rng=rng(), resamples=resamples, alternative="greater").p == 1
    result = permutation(values, rng=rng(), resamples=resamples, alternative="less").p
    assert 1 / (resamples + 1) <= result <= 1
    assert result * (resamples + 1) == pytest.approx(round(result * (resamples + 1)))


def test_signs_are_fair_and_independent() -> None:
    """Powers of two give every combination of signs a sum of its own, and all of them come equally often."""
    from karat.stats._permutation import _drawn_sums

    values = np.array([2.0**i for i in range(10)] + [0.0] * 3)  # 13 values in two groups of eight
    sums = np.concatenate(list(_drawn_sums(values, rng(5), 300_000)))
    numbers = ((sums + 1023) / 2).round().astype(int)
    assert set(np.unique(numbers)) == set(range(1024))
    assert stats.chisquare(np.bincount(numbers)).pvalue > 1e-3


@pytest.mark.slow
@thorough
@given(differences)
def test_the_sides_mirror_each_other(values: list[float]) -> None:
    """A drop of one run is a rise of the other, and two sides are twice the smaller one."""
    less = permutation(values, rng=rng(), alternative="less")
    greater = permutation([-value for value in values], rng=rng(), alternative="greater")
    assert 0 < less.p <= 1
    if less.exact:
        assert less.p == greater.p
        other = permutation(values, rng=rng(), alternative="greater").p
        assert permutation(values, rng=rng()).p == pytest.approx(min(1.0, 2 * min(less.p, other)))


@quick
@given(differences, st.sampled_from([0.001, 0.1, 3.0, 1000.0]))
def test_the_unit_does_not_matter(values: list[float], factor: float) -> None:
    """Differences in per cent have the p of differences in shares."""
    assert permutation([factor * value for value in values], rng=rng()).p == permutation(values, rng=rng()).p


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_clusters_flip_together(alternative: Alternative) -> None:
    """Repeats of one query flip as one, so that p is that of the sums of the clusters."""
    values = rng(2).normal(-0.1, 0.3, 60)
    labels = [f"q{i % 12}" for i in range(60)]
    together = permutation(values, rng=rng(), alternative=alternative, clusters=labels)
    assert together.p == permutation(values.reshape(5, 12).sum(axis=0), rng=rng(), alternative=alternative).p
    assert (together.exact, together.changed, together.clusters, together.n) == (True, 12, 12, 60)
    assert together.estimate == pytest.approx(values.mean())


@each("values", [[0.0], [0.0] * 50, [0.1, -0.1], [0.5]])
def test_nothing_to_find(values: list[float]) -> None:
    """Zeros, cancelling differences and a single one have p = 1 on two sides."""
    assert permutation(values, rng=rng()).p == 1


def test_small_differences_beside_large_ones_have_changed() -> None:
    """What is tiny beside the sum of all is no rounding."""
    assert permutation([1e-8] + [1.0] * 1_000, rng=rng(), resamples=9).changed == 1_001


@pytest.mark.slow
def test_memory_is_bounded() -> None:
    """A million differences use no more than 64 MB beyond what was given."""
    values = drawn(1_000_000, zeros=0.0)
    tracemalloc.start()
    permutation(values, rng=rng(), resamples=1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20


def test_what_makes_no_sense_is_refused() -> None:
    """No resamples and an unknown alternative are refused."""
    with pytest.raises(UsageError, match="0 resamples"):
        permutation([0.1], rng=rng(), resamples=0)
    with pytest.raises(UsageError, match="did you mean 'less'"):
        permutation([0.1], rng=rng(), alternative="les")  # type: ignore[arg-type]
