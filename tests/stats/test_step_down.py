"""Several measures tested together: cases by hand, a second implementation, SciPy, then what holds for all data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from each import each
from karat.core import UsageError
from karat.stats import holm, permutation, westfall_young
from step_down_oracle import adjusted_by_draws, adjusted_by_hand
from strategies import quick

CHANGES = (-1.0, -0.5, -1 / 3, 0.0, 0.0, 0.25, 0.5, 1.0)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def tables(draw: st.DrawFn, most: int = 7) -> list[list[float]]:
    """Differences of one to four measures on the same few queries."""
    n = draw(st.integers(1, most))
    row = st.lists(st.sampled_from(CHANGES), min_size=n, max_size=n)
    return draw(st.lists(row, min_size=1, max_size=4))


class TestByHand:
    """Cases small enough to count."""

    def test_two_measures_that_agree_cost_no_more_than_one(self) -> None:
        """Five queries are lost in both: only one of 32 flips is as low in either, while Holm would double it."""
        lost = [-1.0] * 5 + [0.0] * 5
        test = westfall_young([lost, lost], rng=rng(), alternative="less")
        assert test.adjusted.tolist() == [1 / 32, 1 / 32]
        assert holm(test.p).tolist() == [2 / 32, 2 / 32]

    def test_two_measures_on_other_queries_share_the_level(self) -> None:
        """Two queries fall in one measure, two others in the second: 7 of 16 flips are as low in at least one."""
        test = westfall_young([[-1, -1, 0, 0], [0, 0, -1, -1]], rng=rng(), alternative="less")
        assert test.p.tolist() == [1 / 4, 1 / 4]
        assert test.adjusted.tolist() == [7 / 16, 7 / 16]

    def test_the_steps_go_down(self) -> None:
        """The stronger measure is held against both, the weaker one against itself, and never below the stronger.

        A is (-1, -1, -1), T = -1.73: of 8 flips A is as low in one, B (-1, 1, 0) reaches -1.41 at most: 1/8. B has
        T = 0: 6 of 8 flips are as low.
        """
        test = westfall_young([[-1, -1, -1], [-1, 1, 0]], rng=rng(), alternative="less")
        assert test.statistic == pytest.approx([-(3**0.5), 0.0])
        assert test.adjusted.tolist() == [1 / 8, 6 / 8]

    def test_a_measure_that_did_not_change_costs_nothing(self) -> None:
        """Its statistic is 0 under every flip."""
        test = westfall_young([[-1] * 5, [0] * 5], rng=rng(), alternative="less")
        assert test.adjusted.tolist() == [1 / 32, 1.0]

    def test_two_sided(self) -> None:
        """A gain of one measure and the loss of another are one pattern and its mirror: 2 of 32 flips."""
        test = westfall_young([[1] * 5, [-1] * 5], rng=rng())
        assert test.adjusted.tolist() == [2 / 32, 2 / 32]
        assert westfall_young([[1] * 5], rng=rng(), alternative="greater").adjusted.tolist() == [1 / 32]

    def test_missing_cells_are_no_change(self) -> None:
        """A measure that is not defined for a query is the same as one that did not change there."""
        missing = westfall_young([[-1, -1, np.nan], [-1, 0, -1]], rng=rng(), alternative="less")
        zero = westfall_young([[-1, -1, 0], [-1, 0, -1]], rng=rng(), alternative="less")
        assert missing.adjusted.tolist() == zero.adjusted.tolist()

    def test_clusters_flip_together(self) -> None:
        """Five repeats of three queries are three signs."""
        test = westfall_young([[-1] * 15], rng=rng(), alternative="less", clusters=[i // 5 for i in range(15)])
        assert (test.changed, test.adjusted.tolist()) == (3, [1 / 8])
        cancel = westfall_young([[-1, 1, -1]], rng=rng(), alternative="less", clusters=["a", "a", "b"])
        assert (cancel.changed, cancel.adjusted.tolist()) == (1, [1 / 2])

    def test_nothing_changed(self) -> None:
        """Then there is one flip, which is as low: p is 1."""
        assert westfall_young([[0, 0], [0, 0]], rng=rng()).adjusted.tolist() == [1.0, 1.0]
        assert westfall_young(np.zeros((2, 0)), rng=rng()).adjusted.tolist() == [1.0, 1.0]


@quick
@given(tables(), st.booleans())
def test_the_second_implementation_agrees(rows: list[list[float]], two_sided: bool) -> None:
    """All combinations of signs, in plain Python."""
    test = westfall_young(rows, rng=rng(), alternative="two-sided" if two_sided else "less")
    assert test.adjusted == pytest.approx(adjusted_by_hand(rows, two_sided=two_sided), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("changed", [16, 17, 60])
def test_draws_are_near_a_second_implementation(changed: int) -> None:
    """With 40,000 flips each, both are within five standard errors of each other."""
    base = rng(changed).normal(-0.15, 0.5, changed)
    rows = np.stack([base + rng(changed + i).normal(0, 0.3, changed) for i in range(4)])
    test = westfall_young(rows, rng=rng(), alternative="less", resamples=40_000)
    assert test.exact == (changed <= 16)
    expected = adjusted_by_draws(rows, 40_000)
    assert test.adjusted == pytest.approx(expected, abs=5 * 0.5 / 40_000**0.5)


@quick
@given(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=40), st.sampled_from(["less", "greater", "two-sided"]))
def test_one_measure_is_the_plain_test(row: list[float], alternative: str) -> None:
    """Both p-values are those of the sign-flip test with the same generator, to the last bit."""
    test = westfall_young([row], rng=rng(), alternative=alternative, resamples=499)  # type: ignore[arg-type]
    plain = permutation(row, rng=rng(), alternative=alternative, resamples=499)  # type: ignore[arg-type]
    assert test.p.tolist() == test.adjusted.tolist() == [plain.p]
    assert (test.exact, test.resamples, test.changed) == (plain.exact, plain.resamples, plain.changed)


@pytest.mark.parametrize("alternative", ["less", "greater", "two-sided"])
def test_one_measure_is_that_of_scipy(alternative: str) -> None:
    """SciPy's permutation test of paired samples, all 512 flips."""
    row = rng(3).normal(-0.2, 0.5, 9)
    theirs = stats.permutation_test(
        (row,), lambda x, axis: x.sum(axis=axis), permutation_type="samples", n_resamples=np.inf,
        alternative=alternative, vectorized=True,
    )  # fmt: skip
    ours = westfall_young([row], rng=rng(), alternative=alternative)  # type: ignore[arg-type]
    assert ours.adjusted.tolist() == [pytest.approx(theirs.pvalue, abs=1e-12)]


@quick
@given(tables(), st.randoms(use_true_random=False))
def test_what_holds_for_all_tables(rows: list[list[float]], random: object) -> None:
    """Adjusted p is at least p and ordered as the statistics; the order and the scale of measures do not matter."""
    test = westfall_young(rows, rng=rng(), alternative="less")
    assert (test.adjusted >= test.p).all()
    order = np.argsort(test.statistic, kind="stable")
    assert (np.diff(test.adjusted[order]) >= 0).all()
    places = list(range(len(rows)))
    random.shuffle(places)  # type: ignore[attr-defined]
    scaled = [[(i + 2) * 0.3 * value for value in rows[i]] for i in places]
    assert westfall_young(scaled, rng=rng(), alternative="less").adjusted.tolist() == test.adjusted[places].tolist()
    lost = westfall_young(-np.abs(rows), rng=rng(), alternative="less")
    assert (lost.statistic <= test.statistic + 1e-12).all()


@quick
@given(tables(most=30), st.integers(1, 4))
def test_copies_of_a_measure_cost_nothing(rows: list[list[float]], copies: int) -> None:
    """Also where flips are drawn: the copies have the same sums."""
    once = westfall_young(rows, rng=rng(), alternative="less", resamples=99)
    more = westfall_young([*rows, *[rows[0]] * copies], rng=rng(), alternative="less", resamples=99)
    assert more.adjusted[: len(rows)].tolist() == once.adjusted.tolist()


@pytest.mark.slow
def test_measures_of_many_segments_are_tested_in_a_moment() -> None:
    """126 categories with 20 queries each, in four measures: every collapse is found, since p is not divided by 504."""
    category = np.arange(2_520) % 126
    rows = [np.where(category == i // 4, -0.1 * (1 + i % 4), np.nan) for i in range(504)]
    test = westfall_young(rows, rng=rng(), alternative="less", resamples=1_999)
    assert test.adjusted.max() < 0.01


@each(
    ("table", "message"),
    [
        ([1.0, 2.0], "a row for each measure is needed"),
        ([[1.0, np.inf]], "finite numbers, or NaN"),
        ([["a"]], "should be a table of numbers"),
        ([[1.0], [1.0, 2.0]], "should be a table of numbers"),
    ],
)
def test_what_is_not_a_table_is_refused(table: object, message: str) -> None:
    """One message says what is needed."""
    with pytest.raises(UsageError, match=message):
        westfall_young(table, rng=rng())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="1 cluster labels for 2 differences"):
        westfall_young([[1.0, 2.0]], rng=rng(), clusters=["a"])
