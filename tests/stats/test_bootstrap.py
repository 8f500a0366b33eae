"""Bootstrap intervals against full enumeration, SciPy on the same resamples, and properties."""

from __future__ import annotations

import itertools
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from samples import differences, drawn
from scipy import stats

from each import each
from karat.core import UsageError
from karat.stats import bootstrap
from karat.stats._bootstrap import Method, _indices, resampled_means
from karat.stats._sample import sample
from strategies import quick

METHODS: list[Method] = ["percentile", "bca"]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def ratio(sums: NDArray[np.float64], sizes: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Return the mean over all pairs of the clusters that were drawn."""
    return np.asarray(sums.sum(axis=axis) / sizes.sum(axis=axis))


def test_three_differences_by_hand() -> None:
    """All 27 resamples of three numbers are known, and so are the shares of their means."""
    every = [sum(item) / 3 for item in itertools.product([0.0, 0.3, 0.9], repeat=3)]
    means = resampled_means(sample([0.0, 0.3, 0.9]), rng(), 200_000)
    for value in set(np.round(every, 9)):
        share = np.mean(np.isclose(every, value))
        assert np.mean(np.isclose(means, value)) == pytest.approx(share, abs=0.004)


def test_the_interval_by_hand() -> None:
    """Of n zeros and ones the resampled sum is binomial, and the percentiles are the binomial's."""
    interval = bootstrap([1.0] * 30 + [0.0] * 70, rng=rng(), resamples=20_000)
    low, high = stats.binom.ppf([0.025, 0.975], 100, 0.3) / 100
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.0101)
    assert (interval.estimate, interval.n, interval.resamples, interval.level) == (0.3, 100, 20_000, 0.95)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("n", [2, 5, 50, 400])
def test_scipy_gives_the_same_interval_for_the_same_resamples(n: int, level: float, method: Method) -> None:
    """From the means of our resamples SciPy computes our interval, both kinds of it.

    The values are multiples of 1/64, so that sums are exact: SciPy takes equal means for different ones otherwise.
    """
    values = np.round(rng(n).exponential(13, n) - 6) / 64
    ours = bootstrap(values, rng=rng(), resamples=3_000, level=level, method=method)
    drawn_before = SimpleNamespace(bootstrap_distribution=resampled_means(sample(values), rng(), 3_000))
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=0, confidence_level=level, method=method, bootstrap_result=drawn_before
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((float(theirs.low), float(theirs.high)), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_scipy_gives_the_same_interval_for_the_same_resamples_of_clusters(method: Method) -> None:
    """Uneven clusters are a ratio of sums over sizes, with a jackknife that leaves out a cluster at a time."""
    labels = np.repeat(np.arange(15), [1, 2, 3, 4, 5] * 3)
    values = rng(3).exponential(0.2, len(labels)) + rng(4).normal(0, 0.2, 15)[labels]
    pairs = sample(values, labels)
    ours = bootstrap(values, rng=rng(), resamples=3_000, method=method, clusters=labels)
    drawn_before = SimpleNamespace(bootstrap_distribution=resampled_means(pairs, rng(), 3_000))
    theirs = stats.bootstrap(
        (pairs.sums, pairs.sizes),
        ratio,
        n_resamples=0,
        paired=True,
        method=method,
        bootstrap_result=drawn_before,
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((float(theirs.low), float(theirs.high)), rel=1e-9)
    assert ours.clusters == 15


@pytest.mark.parametrize("method", METHODS)
def test_scipy_gives_nearly_the_same_interval_for_its_own_resamples(method: Method) -> None:
    """With 50,000 resamples each, by different generators, the ends are the same to 2 % of the width."""
    values = drawn(60, seed=5, shift=0.1)
    ours = bootstrap(values, rng=rng(), resamples=50_000, method=method)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=50_000, method=method, rng=rng(9), batch=1_000)
    ends = theirs.confidence_interval
    assert (ours.low, ours.high) == pytest.approx((ends.low, ends.high), abs=0.02 * (ends.high - ends.low))


@pytest.mark.parametrize("method", METHODS)
def test_repeats_of_one_query_are_drawn_together(method: Method) -> None:
    """Five equal repeats of each query give the interval of the queries; taken for independent, a much shorter one."""
    values = drawn(40, seed=2)
    labels = np.repeat(np.arange(40), 5)
    once = bootstrap(values, rng=rng(), method=method)
    together = bootstrap(np.repeat(values, 5), rng=rng(), method=method, clusters=labels)
    apart = bootstrap(np.repeat(values, 5), rng=rng(), method=method)
    assert (together.low, together.high) == pytest.approx((once.low, once.high), rel=1e-9)
    assert apart.high - apart.low < 0.6 * (once.high - once.low)


@quick
@given(differences, st.sampled_from(METHODS), st.floats(0.1, 0.99))
def test_ends_lie_among_the_differences(values: list[float], method: Method, level: float) -> None:
    """The ends are in order, and neither leaves the range of what was observed."""
    interval = bootstrap(values, rng=rng(), resamples=200, level=level, method=method)
    assert min(values) - 1e-12 <= interval.low <= interval.high <= max(values) + 1e-12


@quick
@given(differences, st.sampled_from(METHODS))
def test_a_wider_level_is_a_wider_interval(values: list[float], method: Method) -> None:
    """From the same resamples, 99 % contains 90 %."""
    wide, narrow = (bootstrap(values, rng=rng(), resamples=500, level=level, method=method) for level in (0.99, 0.9))
    assert wide.low <= narrow.low
    assert narrow.high <= wide.high


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3])
def test_differences_that_are_all_the_same(value: float, method: Method) -> None:
    """Where every pair says the same, the interval is that."""
    interval = bootstrap([value] * 7, rng=rng(), method=method)
    assert (interval.low, interval.high) == pytest.approx((value, value), abs=1e-15)
    assert interval.excludes_zero == (value != 0)


@pytest.mark.parametrize("method", METHODS)
def test_two_differences(method: Method) -> None:
    """Two pairs are enough for an interval, which is as wide as they are apart."""
    interval = bootstrap([0.0, 1.0], rng=rng(), method=method)
    assert (interval.low, interval.high) == (0, 1)


def test_one_resample() -> None:
    """A single resample gives itself, corrected or not."""
    for method in METHODS:
        interval = bootstrap([0.1, 0.5, 0.9], rng=rng(), resamples=1, method=method)
        assert interval.low == interval.high


def test_a_correction_that_runs_past_the_last_resample_stops_there() -> None:
    """A level so high that the correction has no answer gives the largest resample, and no NaN."""
    values = [0.0] * 40 + [1.0]
    interval = bootstrap(values, rng=rng(), resamples=200, level=1 - 1e-12, method="bca")
    means = resampled_means(sample(values), rng(), 200)
    assert interval.high == means.max()


@each("n", [2, 3, 7, 1000, 2**31 + 11, 3 * 2**30, 2**32 + 5])
def test_every_index_is_equally_likely(n: int) -> None:
    """Indices are uniform, also for an n at which every third word has to be drawn again, and beyond 32 bits."""
    result = _indices(rng(7), n, (300, 1_001))
    assert result.shape == (300, 1_001)
    assert result.min() >= 0
    assert result.max() < n
    counts = np.histogram(result, bins=min(n, 50), range=(-0.5, n - 0.5))[0]
    shares = np.diff(np.floor(np.linspace(-0.5, n - 0.5, min(n, 50) + 1))) / n
    assert stats.chisquare(counts, shares * result.size).pvalue > 1e-3


@pytest.mark.parametrize("n", [3, 5_000, 2_000_000])
def test_memory_is_bounded(n: int) -> None:
    """However many pairs there are, no more than 64 MB is used beyond what was given."""
    values = drawn(n)
    sample(values)
    tracemalloc.start()
    bootstrap(values, rng=rng(), resamples=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20


def test_a_sample_larger_than_a_part_is_drawn_in_parts() -> None:
    """Where one resample does not fit into a part, its mean is still that of n draws."""
    n = 200_000
    sizes = [*range(n - 1), n - 2]  # of one cluster with two values: groups are drawn only where all are of one size
    means = resampled_means(sample(drawn(n, zeros=0.0), sizes), rng(), 60)
    sd = drawn(n, zeros=0.0).std() / np.sqrt(n)
    assert means.std() == pytest.approx(sd, rel=0.4)
    assert means.mean() == pytest.approx(drawn(n, zeros=0.0).mean(), abs=5 * sd / np.sqrt(60))


@each(("n", "changed"), [(600, 1), (600, 40), (600, 599), (10_000, 1), (10_000, 40), (10_000, 3_000), (10_000, 9_999)])
def test_of_many_pairs_of_two_values_the_number_of_each_is_binomial(n: int, changed: int) -> None:
    """Drawn by groups, resamples of zeros and ones are distributed exactly as if they were drawn one by one."""
    means = resampled_means(sample(np.arange(n) < changed), rng(3), 20_000)
    counts = np.rint(means * n)
    assert np.allclose(counts, means * n)
    for share in (0.025, 0.16, 0.5, 0.84, 0.975):
        exact = stats.binom(n, changed / n)
        low, high = exact.ppf(max(share - 0.006, 0.0)), exact.ppf(min(share + 0.006, 1.0))
        assert low <= np.quantile(counts, share) <= high


def test_groups_are_drawn_where_that_is_cheaper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand changes of few sizes are drawn by groups; of as many sizes, and few changes, each pair is drawn."""
    drawn_pairs: list[int] = []

    def count_indices(generator: np.random.Generator, n: int, shape: tuple[int, int]) -> NDArray[np.int64]:
        drawn_pairs.append(shape[0] * shape[1])
        return _indices(generator, n, shape)

    monkeypatch.setattr("karat.stats._bootstrap._indices", count_indices)
    few_sizes = np.tile([0.0, 0.25, -0.5, 1.0], 250)
    resampled_means(sample(few_sizes), rng(), 10)
    assert drawn_pairs == []
    resampled_means(sample(drawn(1_000)), rng(), 10)
    resampled_means(sample(few_sizes[:400]), rng(), 10)
    assert drawn_pairs == [10_000, 4_000]


@pytest.mark.parametrize("power", [1, 3])
@pytest.mark.parametrize("n", [2_500, 9_000])
def test_of_many_pairs_mean_spread_and_skewness_are_those_of_the_bootstrap(n: int, power: int) -> None:
    """Drawn by groups, the first three moments of the resampled means are those that theory has, also of long tails."""
    values = rng(5).exponential(1.0, n) ** power
    means = resampled_means(sample(values), rng(), 40_000)
    error = values.std() / np.sqrt(n)
    assert means.mean() == pytest.approx(values.mean(), abs=5 * error / 200)
    assert means.std() == pytest.approx(error, rel=0.02)
    assert stats.skew(means) == pytest.approx(stats.skew(values) / np.sqrt(n), abs=0.05)


@each(
    ("arguments", "words"),
    [
        ({"resamples": 0}, "0 resamples"),
        ({"level": 1.0}, "level"),
        ({"level": 0.0}, "level"),
        ({"method": "BCA"}, "did you mean 'bca'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, object], words: str) -> None:
    """No resamples, no level, and no known method are refused."""
    with pytest.raises(UsageError, match=words):
        bootstrap([0.1, 0.2], rng=rng(), **arguments)  # type: ignore[arg-type]
