"""Runs side by side: by hand, then against SciPy and statsmodels, then what holds for any runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evaluations import make_evaluation
from karat.core import InputError, MeasureError, UsageError
from karat.evaluation import Evaluation
from karat.gate import Correction, compare, compare_all
from karat.gate._comparison import shared_measures
from strategies import quick

Rows = Sequence[float | tuple[float, ...]] | NDArray[np.float64]


def make_scored(name: str = "run", **columns: Rows) -> Evaluation:
    """A run with these values of q0, q1 ...; a tuple holds those of repeats, and NaN is no value."""
    values = {
        measure.replace("_at_", "@"): {
            f"q{i}": value if isinstance(value, tuple) else (value,) for i, value in enumerate(column)
        }
        for measure, column in columns.items()
    }
    return make_evaluation(name=name, values=values)


def drawn(n: int, seed: int, *, shift: float = 0.0, changed: float = 0.6) -> tuple[NDArray[np.float64], ...]:
    """Return the scores of two runs on n queries: multiples of 1/64, so that sums are exact."""
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 65, n) / 64
    change = np.where(rng.random(n) < changed, rng.integers(-20, 21, n) / 64 + shift, 0.0)
    return before, np.clip(before + change, 0, 1)


def test_one_measure_by_hand() -> None:
    """Means, difference, wins and exact p of five queries, of which four changed."""
    (comparison,) = compare(make_scored(RR=[1.0, 0.5, 1.0, 1.0, 0.25]), make_scored(RR=[0.5, 0.5, 0.5, 0.5, 0.5]))
    assert (comparison.measure, comparison.n, comparison.baseline, comparison.candidate) == ("RR", 5, 0.5, 0.75)
    assert comparison.difference == 0.25
    assert (comparison.wins, comparison.ties, comparison.losses) == (3, 1, 1)
    # The sum is 1.25 of at most 1.75: of 16 flips only +++-, ++++ and their opposites are as far out.
    assert comparison.p == comparison.p_corrected == 4 / 16
    assert comparison.effect == pytest.approx(0.25 / math.sqrt((0.25**2 * 3 + 0.25**2 + 0.5**2) / 4))
    assert not comparison.significant


def test_less_is_better_where_the_measure_says_so() -> None:
    """Of DupRate a fall is a win; the difference keeps its sign, and so does the gain its own."""
    (comparison,) = compare(make_scored(DupRate_at_10=[0.1, 0.2, 0.3]), make_scored(DupRate_at_10=[0.3, 0.3, 0.2]))
    assert (comparison.wins, comparison.ties, comparison.losses) == (2, 0, 1)
    assert comparison.difference == pytest.approx(-0.2 / 3)
    assert comparison.gain == pytest.approx(0.2 / 3)


def test_only_queries_with_a_value_in_both_count() -> None:
    """A query without a value in one run is left out of both means."""
    (comparison,) = compare(make_scored(RR=[1.0, math.nan, 1.0, 0.0]), make_scored(RR=[0.0, 1.0, 0.5]))
    assert (comparison.n, comparison.baseline, comparison.candidate, comparison.difference) == (2, 0.25, 1.0, 0.75)


@pytest.mark.parametrize("rows", [[], [0.5], [math.nan, 0.5]])
def test_fewer_than_two_queries_have_no_test(rows: list[float]) -> None:
    """One query has a difference and nothing more; none has no difference either, and NaN becomes null."""
    column = {f"q{i}": (value,) for i, value in enumerate(rows)}
    run = make_evaluation(name="a", values={"RR": column})
    (comparison,) = compare(run, run)
    assert (comparison.n, comparison.p, comparison.low, comparison.p_t, comparison.effect) == (
        len([x for x in rows if x == x]),
        *4 * [None],
    )
    assert comparison.to_dict()["difference"] == (0.0 if comparison.n else None)
    json.dumps(comparison.to_dict(), allow_nan=False)


def test_runs_that_do_not_differ_at_all() -> None:
    """p is 1, the interval is a point, and nothing is won or lost."""
    (comparison,) = compare(make_scored(RR=[0.5, 1.0, 0.25]), make_scored(RR=[0.5, 1.0, 0.25]))
    assert (comparison.p, comparison.p_t, comparison.low, comparison.high, comparison.effect, comparison.ties) == (
        1.0,
        1.0,
        0.0,
        0.0,
        0.0,
        3,
    )


@pytest.mark.parametrize("seed", range(5))
def test_scipy_gives_the_same_exact_p_t_and_effect(seed: int) -> None:
    """With few changes p is that of SciPy's permutation test over all flips; the paired t-test and d_z are SciPy's."""
    before, after = drawn(14, seed, shift=0.1)
    (comparison,) = compare(make_scored(RR=after), make_scored(RR=before))
    test = stats.permutation_test(
        (after, before), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=np.inf,
    )  # fmt: skip
    assert comparison.p == pytest.approx(test.pvalue, abs=1e-12)
    assert comparison.p_t == pytest.approx(stats.ttest_rel(after, before).pvalue, rel=1e-9)
    assert comparison.effect == pytest.approx(np.mean(after - before) / np.std(after - before, ddof=1))
    assert comparison.difference == pytest.approx(np.mean(after - before))


@pytest.mark.parametrize(("n", "shift"), [(80, 0.03), (200, 0.02), (200, 0.0)])
def test_scipy_gives_the_same_p_and_interval_by_other_draws(n: int, shift: float) -> None:
    """With many changes both are drawn: p within its error of SciPy's, the BCa interval within a tenth of its width."""
    before, after = drawn(n, n, shift=shift)
    (comparison,) = compare(make_scored(RR=after), make_scored(RR=before))
    rng = np.random.default_rng(1)
    test = stats.permutation_test(
        (after, before), lambda a, b, axis: np.mean(a - b, axis=axis), permutation_type="samples",
        vectorized=True, n_resamples=9_999, rng=rng,
    )  # fmt: skip
    assert comparison.p is not None
    assert comparison.p == pytest.approx(test.pvalue, abs=5 * math.sqrt(2 * max(test.pvalue, 1e-3) / 10_000))
    interval = stats.bootstrap((after - before,), np.mean, n_resamples=10_000, method="BCa", rng=rng)
    low, high = interval.confidence_interval
    assert (comparison.low, comparison.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_the_interval_of_zeros_and_ones_is_binomial() -> None:
    """Of 100 queries 30 go from 0 to 1: without skewness or bias to speak of, the interval is the binomial's."""
    (comparison,) = compare(make_scored(RR=[1.0] * 30 + [0.0] * 70), make_scored(RR=[0.0] * 100))
    low, high = stats.binom.ppf([0.025, 0.975], 100, 0.3) / 100
    assert (comparison.low, comparison.high) == pytest.approx((low, high), abs=0.0201)


_THEIRS: dict[Correction, str] = {"holm": "holm", "bonferroni": "bonferroni", "bh": "fdr_bh"}


def five_measures(seed: int) -> tuple[Evaluation, Evaluation]:
    """Two runs whose differences grow from measure to measure."""
    names = ("RR", "P_at_5", "R_at_5", "nDCG_at_5", "AP")
    columns = {name: drawn(40, seed + i, shift=0.03 * i) for i, name in enumerate(names)}
    return (
        make_scored("b", **{name: column[0].tolist() for name, column in columns.items()}),
        make_scored("c", **{name: column[1].tolist() for name, column in columns.items()}),
    )


@pytest.mark.slow
@pytest.mark.parametrize("correction", _THEIRS)
def test_statsmodels_corrects_in_the_same_way(correction: Correction) -> None:
    """Over all measures of two runs, and over all pairs and measures of four."""
    runs = [*five_measures(0), *five_measures(10)]
    for chosen in (runs[:2], runs):
        tests = [measure for pair in compare_all(chosen, correction=correction) for measure in pair.measures]
        assert len(tests) == 5 * len(chosen) * (len(chosen) - 1) // 2
        expected = multipletests([test.p for test in tests], method=_THEIRS[correction])[1]
        assert [test.p_corrected for test in tests] == pytest.approx(expected.tolist(), rel=1e-12)
        assert [test.significant for test in tests] == [bool(p <= 0.05) for p in expected]


def test_without_a_correction_p_stays_as_it_is() -> None:
    """``none`` gives p itself."""
    (pair,) = compare_all(five_measures(0), correction="none")
    assert [measure.p_corrected for measure in pair.measures] == [measure.p for measure in pair.measures]


def test_segments_by_hand() -> None:
    """Each is compared on its queries alone; p is corrected over all segments and measures together."""
    segments = {("category", "a"): ["q0", "q1", "q2"], ("category", "b"): ["q3", "q4"], ("category", "c"): ["q9"]}
    now, then = make_scored(RR=[1.0, 1.0, 1.0, 0.5, 0.0]), make_scored(RR=[0.0, 0.5, 0.5, 0.5, 1.0])
    whole, a, b, c = compare(now, then, segments=segments)
    assert whole.segment is None
    assert whole.n == 5
    assert (a.segment, a.n, a.difference, a.wins) == (("category", "a"), 3, pytest.approx(2 / 3), 3)
    assert (a.p, a.p_corrected) == (0.25, 0.25)  # the one query of b that changed is never as far out
    assert (b.n, b.difference, b.p, b.p_corrected, b.losses) == (2, -0.5, 1.0, 1.0, 1)
    assert (c.n, c.p, c.p_corrected) == (0, None, None)
    assert a.to_dict()["segment"] == {"category": "a"}


@pytest.mark.slow
def test_segments_leave_the_whole_as_it_was() -> None:
    """What all queries say does not depend on who looks at their parts."""
    then, now = five_measures(3)
    half = {("type", "one"): [f"q{i}" for i in range(20)]}
    plain, parted = compare(now, then), compare(now, then, segments=half)
    assert parted[:5] == plain
    by_holm = compare(now, then, segments=half, correction="holm")
    expected = multipletests([comparison.p for comparison in by_holm[5:]], method="holm")[1]
    assert [comparison.p_corrected for comparison in by_holm[5:]] == pytest.approx(expected.tolist())


def test_the_unit_is_the_query() -> None:
    """Repeats are averaged before differences are taken: asking five times makes no query more than one."""
    before, after = drawn(30, 7, shift=0.05)
    once = compare(make_scored(RR=after), make_scored(RR=before))
    often = compare(make_scored(RR=[(x,) * 5 for x in after]), make_scored(RR=[(x,) * 5 for x in before]))
    assert often == once
    assert often[0].n == 30
    rng = np.random.default_rng(1)
    noise = rng.integers(-8, 9, (30, 4)) / 64
    (noisy,) = compare(make_scored(RR=[tuple(row) for row in after[:, None] + noise]), make_scored(RR=before))
    (means,) = compare(make_scored(RR=(after[:, None] + noise).mean(axis=1)), make_scored(RR=before))
    assert (noisy.n, noisy.low, noisy.high, noisy.p) == (30, means.low, means.high, means.p)
    assert noisy.p_t == pytest.approx(stats.ttest_rel((after[:, None] + noise).mean(axis=1), before).pvalue)


def test_the_seed_decides_and_nothing_else_does() -> None:
    """The same seed gives the same numbers, whatever else is compared; another gives others."""
    then, now = five_measures(5)
    assert compare(now, then, seed=3) == compare(now, then, seed=3)
    alone = compare(now, then, ["AP"], seed=3)[0]
    among = compare(now, then, ["RR", "P@5", "AP"], seed=3)[2]
    assert (alone.low, alone.high, alone.p) == (among.low, among.high, among.p)
    other = compare(now, then, ["AP"], seed=4)[0]
    assert (other.low, other.high) != (alone.low, alone.high)


@pytest.mark.slow
def test_many_tests_can_still_find_something() -> None:
    """Of fifteen runs there are 105 pairs: a p corrected for all of them can be far below 0.05."""
    rng = np.random.default_rng(2)
    base = rng.integers(0, 33, 60) / 64
    runs = [make_scored(str(i), RR=base + i * 0.02 + rng.integers(-1, 2, 60) / 64) for i in range(15)]
    pairs = compare_all(runs)
    assert [(pair.baseline, pair.candidate) for pair in pairs[:3]] == [(0, 1), (0, 2), (0, 3)]
    far = next(pair for pair in pairs if (pair.baseline, pair.candidate) == (0, 14))
    assert far.measures[0].p_corrected == 1 / 10_000
    by_holm = next(pair for pair in compare_all(runs, correction="holm") if (pair.baseline, pair.candidate) == (0, 14))
    assert by_holm.measures[0].p_corrected == pytest.approx(105 / 10_500)
    assert far.measures[0].significant


def test_progress_counts_every_test() -> None:
    """Segments count, too."""
    seen: list[tuple[int, int]] = []
    compare_all(five_measures(0), segments={("type", "x"): ["q0", "q1"]}, progress=lambda *at: seen.append(at))
    assert seen == [(i, 10) for i in range(1, 11)]


def test_a_run_with_means_only_is_compared_without_tests() -> None:
    """fit's baseline has means only, and no segments."""
    means = make_evaluation(name="old", means={"RR": 0.5, "R@5": 0.75})
    now = make_scored(RR=[1.0, 0.5])
    assert shared_measures([means, now]) == ["RR"]
    whole, part = compare(now, means, segments={("type", "x"): ["q0"]})
    assert (whole.n, whole.baseline, whole.candidate, whole.difference, whole.p) == (0, 0.5, 0.75, 0.25, None)
    assert part.to_dict()["difference"] is None


def test_measures_are_those_that_all_runs_have() -> None:
    """A measure that one of them lacks is left out, unless it is asked for: then nothing is shared."""
    runs = [make_scored(RR=[0.5, 1.0], P_at_5=[1.0, 1.0]), make_scored(RR=[0.5, 1.0])]
    assert [measure.measure for measure in compare_all(runs)[0].measures] == ["RR"]
    assert compare(runs[0], runs[1], ["P@5"])[0].n == 0


def test_what_cannot_be_compared_is_refused() -> None:
    """One run, a correction that nobody knows, a measure that is none, and runs on two golden sets."""
    run = make_scored(RR=[0.5, 1.0])
    with pytest.raises(UsageError, match="a comparison needs two"):
        compare_all([run])
    with pytest.raises(UsageError, match="did you mean 'holm'"):
        compare(run, run, correction="hollm")  # type: ignore[arg-type]
    with pytest.raises(MeasureError):
        compare(run, run, ["Rr@x"])
    sets = [
        make_evaluation(
            name=name, golden={"fingerprint": name}, system={}, fingerprint="", values={"RR": run.values("RR")}
        )
        for name in ("old", "new")
    ]
    with pytest.raises(InputError, match="run B 'new' and run A 'old' cannot be compared: they differ in golden set"):
        compare_all(sets)


def test_nothing_tested_is_nothing_corrected() -> None:
    """A measure without a p does not count as a test of the others."""
    then, now = (
        make_scored(RR=[0.0] * 9, P_at_5=[0.5, *[math.nan] * 8]),
        make_scored(RR=[1.0] * 9, P_at_5=[1.0, *[math.nan] * 8]),
    )
    for correction in ("westfall-young", "holm"):
        first, second = compare(now, then, ["RR", "P@5"], correction=correction)  # type: ignore[arg-type]
        assert (first.p_corrected, second.p_corrected) == (2 / 512, None)


def test_measures_that_change_together_are_corrected_as_one() -> None:
    """Six queries rise in both measures: p is 2/64 by Westfall and Young, and twice as much by Holm."""
    then, now = make_scored(RR=[0.0] * 6, P_at_5=[0.0] * 6), make_scored(RR=[1.0] * 6, P_at_5=[0.4] * 6)
    assert [comparison.p_corrected for comparison in compare(now, then)] == [2 / 64] * 2
    assert [comparison.p_corrected for comparison in compare(now, then, correction="holm")] == [4 / 64] * 2


def test_a_geometric_mean_is_compared_as_one() -> None:
    """GMAP over 0.25 and 1 is 0.5, and the test is that of the logarithms."""
    then, now = make_scored(GMAP=[0.25, 1.0, 0.5, 0.5]), make_scored(GMAP=[0.5, 0.5, 0.25, 0.5])
    (comparison,) = compare(now, then)
    assert (comparison.baseline, comparison.candidate) == (pytest.approx(0.5), pytest.approx(2 ** (-5 / 4)))
    assert comparison.difference == pytest.approx(2 ** (-5 / 4) - 0.5)
    assert comparison.p == 1.0  # the logs are 1, -1 and -1: any of eight sums is as far from 0
    assert comparison.p_t == pytest.approx(stats.ttest_1samp(np.log2([2, 0.5, 0.5, 1]), 0).pvalue)


SCORES = st.lists(st.tuples(*[st.sampled_from([0.0, 0.2, 1 / 3, 0.5, 1.0])] * 2), min_size=2, max_size=14)


@pytest.mark.slow
@quick
@given(SCORES)
def test_the_other_way_round_is_the_mirror(pairs: list[tuple[float, float]]) -> None:
    """Exchanging the runs changes the sign of the difference, and wins for losses; p stays."""
    then, now = make_scored(RR=[a for a, _ in pairs]), make_scored(RR=[b for _, b in pairs])
    (there,), (back,) = compare(now, then), compare(then, now)
    assert back.difference == pytest.approx(-there.difference, abs=1e-12)
    assert (back.wins, back.ties, back.losses) == (there.losses, there.ties, there.wins)
    assert back.p == there.p
    assert back.p_t == pytest.approx(there.p_t)
    assert there.low is not None
    assert there.high is not None
    assert there.low - 1e-12 <= there.high
