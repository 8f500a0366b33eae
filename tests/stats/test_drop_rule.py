"""The gate's rules on arrays: each branch by hand, then what must hold for all scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import FRACTIONS

from each import each
from karat.core import UsageError
from karat.stats import (
    DropRule,
    Outcome,
    PairedScores,
    decide,
    evidence,
    non_inferior,
    permutation,
    threshold,
    westfall_young,
)
from strategies import thorough

scores = st.lists(st.tuples(st.sampled_from(FRACTIONS), st.sampled_from(FRACTIONS)), min_size=1, max_size=30)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def decide_alone(
    before: object, after: object, rule: DropRule | None = None, clusters: object = None
) -> tuple[Outcome, str]:
    """Decide on a single measure."""
    (verdict,) = decide([(before, after)], rng=rng(), rule=rule, clusters=clusters)  # type: ignore[list-item,arg-type]
    return verdict.outcome, verdict.reason


def test_a_large_drop_fails() -> None:
    """Six of ten queries fell from 1 to 0: p is 1/64, and the mean fell by 0.6, more than 5 % of 1."""
    (verdict,) = decide([([1] * 10, [1] * 4 + [0] * 6)], rng=rng())
    assert verdict.outcome is Outcome.FAIL
    assert verdict.evidence is not None
    assert verdict.evidence.p == verdict.adjusted == 1 / 64
    assert (verdict.evidence.margin, verdict.evidence.difference) == (0.05, pytest.approx(-0.6))
    assert verdict.reason == "dropped by 0.6, more than 0.05 (one-sided p = 0.0156)"


def test_nothing_changed_passes() -> None:
    """Equal scores pass, even a single one, even where there is no margin, even at 0."""
    assert decide_alone([0.5] * 10, [0.5] * 10) == (Outcome.PASS, "none of 10 queries changed")
    assert decide_alone([1], [1])[0] is Outcome.PASS
    assert decide_alone([0], [0], DropRule(absolute=0))[0] is Outcome.PASS
    assert decide_alone([0.3], [0.1 + 0.2])[0] is Outcome.PASS


def test_a_rise_passes() -> None:
    """Queries that got better, or hardly moved, rule a drop out."""
    before = np.linspace(0.2, 0.8, 50)
    assert decide_alone(before, before + 0.01 * np.sin(np.arange(50)))[0] is Outcome.PASS
    assert decide_alone(before, before + 0.1)[1] == "a drop by more than 0.025 is ruled out: it is at most 0"


def test_a_significant_drop_within_the_margin_passes() -> None:
    """All of 40 queries fell a little: surely a drop, and surely one that is tolerated."""
    before = np.linspace(0.5, 1.0, 40)
    (verdict,) = decide([(before, before - 0.01)], rng=rng())
    assert verdict.outcome is Outcome.PASS
    assert verdict.evidence is not None
    assert verdict.evidence.p < 0.001


def test_where_lower_is_better_a_loss_is_a_rise() -> None:
    """The same scores mirrored have the same verdict, and no message speaks of a drop."""
    cases = (
        ([1, 0] * 5 + [1, 1], [0, 1] * 5 + [1, 1]),  # noise
        ([1.0] * 20, [0.85] * 6 + [1.0] * 14),  # shown, and perhaps within the margin
        ([1] * 10, [1] * 4 + [0] * 6),  # too much
        ([1] * 10, [0] * 2 + [1] * 8),  # too few changed
        ([0.5] * 40, [0.5] * 39 + [0.6]),  # better
    )
    for before, after in cases:
        rule = DropRule(absolute=0.05, relative=0)
        turned = PairedScores(1 - np.asarray(before), 1 - np.asarray(after), lower_is_better=True)
        (verdict,) = decide([turned], rng=rng(), rule=rule)
        outcome, reason = decide_alone(before, after, rule)
        assert verdict.outcome is outcome
        moved = {"the mean dropped": "the mean rose", "dropped by": "rose by"}
        expected = reason
        for old, said in moved.items():
            expected = expected.replace(old, said)
        assert verdict.reason == expected.replace("drop", "rise")


def test_a_few_changed_queries_are_inconclusive() -> None:
    """Four losses can never be significant, whatever their size, and the reason says so, with the largest drop.

    The bound is -0.4 - 1.833 * 0.516 / sqrt(10) = -0.699.
    """
    (verdict,) = decide([([1] * 10, [1] * 6 + [0] * 4)], rng=rng())
    assert (verdict.outcome, verdict.reachable, verdict.testable) == (Outcome.INCONCLUSIVE, 1 / 16, False)
    assert verdict.reason == (
        "the mean dropped by 0.4, and the drop could be as large as 0.699; too few changed to test: 4 of 10 queries, "
        "so p cannot be below 0.062, and 0.05 is needed"
    )


def test_what_can_be_reached_counts_the_correction_in() -> None:
    """Two measures fall on five queries each, of which none is shared: 1/32 alone, 63/1024 for either of them."""
    first, second = [0] * 5 + [1] * 5, [1] * 5 + [0] * 5
    assert decide([([1] * 10, first)], rng=rng())[0].outcome is Outcome.FAIL
    for verdict in decide([([1] * 10, first), ([1] * 10, second)], rng=rng()):
        assert (verdict.outcome, verdict.adjusted) == (Outcome.INCONCLUSIVE, 63 / 1024)
        assert (verdict.reachable, verdict.testable) == (63 / 1024, False)
        assert "too few changed to test: 5 of 10 queries, so p cannot be below 0.062" in verdict.reason


def test_what_could_have_been_shown_is_testable() -> None:
    """Six of ten changed, five down and one up: p is 7/64, but six losses would have been 1/64."""
    (verdict,) = decide([([0.5] * 10, [0.0] * 5 + [1.0] + [0.5] * 4)], rng=rng())
    assert (verdict.outcome, verdict.adjusted, verdict.reachable) == (Outcome.INCONCLUSIVE, 7 / 64, 1 / 64)
    assert verdict.testable


def test_the_p_of_a_drop_is_not_that_of_one_beyond_the_margin() -> None:
    """Six of twenty queries lose 0.15: a drop is shown, p = 1/2^6, of 0.045; whether it exceeds 0.05 is not known."""
    (verdict,) = decide([([1.0] * 20, [0.85] * 6 + [1.0] * 14)], rng=rng())
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason.endswith(
        "that it got worse is shown (one-sided p = 0.0156), and a drop by more than 0.05 is not ruled out"
    )


def test_noise_is_inconclusive_with_the_number_of_queries_needed() -> None:
    """Wins and losses that cancel in 10 queries neither show a drop nor rule one out; 6.18 sd^2 / m^2 queries would."""
    before, after = [1, 0] * 5 + [1, 1], [0, 1] * 5 + [1, 1]
    (verdict,) = decide([(before, after)], rng=rng())
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.reason == (
        "the mean did not move, and the drop could be as large as 0.494; "
        "no drop is shown (one-sided p = 0.623), and a drop by more than 0.0292 is not ruled out"
    )
    weighed = verdict.evidence
    assert weighed is not None
    assert weighed.sd is not None
    assert weighed.needed == pytest.approx(6.18 * weighed.sd**2 / weighed.margin**2, rel=0.01)


def test_a_drop_that_stays_is_planned_with() -> None:
    """Of 46 queries 3 fall from 1 to 0.5: the mean by 1.5 / 46 = 0.0326, and 0.0174 are left of the tolerated 0.05.

    The variance is (3 * 0.25 - 46 * 0.0326^2) / 45 = 0.01558, and 6.18 * 0.01558 / 0.0174^2 is 318. A drop of 0 would
    need 40, which is less than there are.
    """
    result = evidence([1.0] * 46, [0.5] * 3 + [1.0] * 43, rng=rng())
    assert not result.dropped
    assert result.needed == pytest.approx(318, rel=0.01)


@pytest.mark.parametrize(("n", "lost"), [(46, 3), (92, 6), (138, 9), (104, 9), (60, 1), (500, 40)])
def test_more_queries_are_needed_than_there_are(n: int, lost: int) -> None:
    """Whatever is lost: a number that is there already would have decided."""
    result = evidence([1.0] * n, [0.5] * lost + [1.0] * (n - lost), rng=rng())
    assert result.ruled_out or result.dropped or (result.needed or n + 1) > n


def test_a_single_query_that_changed_is_inconclusive() -> None:
    """One query has no spread: there is no bound, and no number of queries."""
    (verdict,) = decide([([1.0], [0.0])], rng=rng())
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.evidence is not None
    assert (verdict.evidence.low, verdict.evidence.sd, verdict.evidence.needed) == (None, None, None)


def test_no_margin_needs_more_queries_than_there_are() -> None:
    """A margin of 0, or next to it, cannot be ruled out by any number of queries."""
    for absolute in (0.0, 1e-12):
        result = evidence([0.0, 0.0, 0.0], [0.5, 0.0, 0.0], rng=rng(), rule=DropRule(absolute=absolute))
        assert result.sd is not None
        assert result.needed is None


def test_nothing_measured_fails() -> None:
    """A measure without scores fails and takes no part in the correction; it never passes silently (H07)."""
    nothing, drop = decide([([], []), ([1] * 10, [1] * 4 + [0] * 6)], rng=rng())
    assert (nothing.outcome, nothing.evidence, nothing.adjusted) == (Outcome.FAIL, None, None)
    assert nothing.reason.startswith("nothing was measured")
    assert drop.adjusted == 1 / 64
    with pytest.raises(UsageError, match="0 baseline and 2 candidate"):
        decide([([], [1, 1])], rng=rng())
    assert decide([], rng=rng()) == ()


def test_measures_that_fall_together_are_found_together() -> None:
    """Five lost queries are p = 1/32 in one measure and in four that agree; Holm would have made it 1/8."""
    drop, milder = ([1] * 10, [1] * 5 + [0] * 5), ([1] * 10, [1] * 5 + [0, 0, 0.5, 0, 0])
    same = ([1] * 10, [1] * 10)
    verdicts = decide([drop, drop, milder, same], rng=rng())
    assert [verdict.outcome.value for verdict in verdicts] == ["fail", "fail", "fail", "pass"]
    assert [verdict.adjusted for verdict in verdicts] == [1 / 32, 1 / 32, 1 / 32, 1.0]


def test_a_missing_cell_takes_no_part_in_its_measure() -> None:
    """NaN in both runs is a query that the measure is not defined for; in one run only it is a mistake."""
    nan = math.nan
    first, second = decide([([1] * 6, [0] * 6), ([1, 1, nan, 1, 1, 1], [1, 1, nan, 1, 1, 0.5])], rng=rng())
    assert first.evidence is not None
    assert second.evidence is not None
    assert (first.evidence.n, second.evidence.n, second.evidence.difference) == (6, 5, -0.1)
    with pytest.raises(UsageError, match=r"candidate\[1\] is nan"):
        decide([([1.0, 1.0], [1.0, nan])], rng=rng())
    with pytest.raises(UsageError, match="different numbers of queries: put NaN"):
        decide([([1], [1]), ([1, 1], [1, 1])], rng=rng())


def test_a_collapse_to_nothing_is_never_tolerated() -> None:
    """P@200 falls from 0.005 to 0: the absolute margin of 0.01 would hide it, half of the mean does not."""
    margins = [DropRule().margin(mean) for mean in (0.0, 0.005, 0.018, 0.02, 0.1, 0.2, 1.0)]
    assert margins == pytest.approx([0.01, 0.0025, 0.009, 0.01, 0.01, 0.01, 0.05])
    assert DropRule().margin(0.005, lower_is_better=True) == 0.01
    assert DropRule(relative=0.6).margin(0.5) == 0.3
    assert decide_alone([0.005] * 20, [0.0] * 20)[0] is Outcome.FAIL
    assert decide_alone([0.0] * 6, [0.5] * 6)[0] is Outcome.PASS


def test_a_geometric_mean_is_tested_as_one() -> None:
    """Four of 200 queries fall from 0.5 to 0: the mean falls by 2 %, the geometric one to 0.5^0.98 * 0.00001^0.02.

    On the log scale the drop is far beyond 5 %, but four changes cannot be significant; eight are.
    """
    for lost, outcome in ((4, Outcome.INCONCLUSIVE), (8, Outcome.FAIL)):
        before, after = [0.5] * 200, [0.0] * lost + [0.5] * (200 - lost)
        (plain,) = decide([(before, after)], rng=rng())
        (verdict,) = decide([PairedScores(before, after, scale="geometric")], rng=rng())
        assert plain.evidence is not None
        assert verdict.evidence is not None
        now = 0.5 ** (1 - lost / 200) * 0.00001 ** (lost / 200)
        assert (verdict.evidence.baseline, verdict.evidence.candidate) == (pytest.approx(0.5), pytest.approx(now))
        assert verdict.evidence.difference == pytest.approx(now - 0.5)
        assert verdict.evidence.margin == pytest.approx(0.025)
        assert verdict.evidence.tolerance == pytest.approx(-math.log(0.95))
        assert verdict.outcome is outcome
        assert not plain.evidence.dropped
    logs = np.log(np.maximum(after, 1e-5)) - np.log(before)
    bound = non_inferior(logs, 1.0).low
    assert bound is not None
    assert verdict.evidence.low == pytest.approx(0.5 * (math.exp(bound) - 1))
    with pytest.raises(UsageError, match="unknown scale 'geometrical', did you mean 'geometric'"):
        PairedScores([1], [1], scale="geometrical")  # type: ignore[arg-type]


def test_the_flips_reach_the_level() -> None:
    """At least 20 flips may be as extreme at a p of alpha, and a million reach the smallest level that is allowed."""
    assert [DropRule(alpha=alpha).flips for alpha in (0.05, 0.001, 1e-6)] == [9_999, 19_999, 999_999]
    assert DropRule(resamples=99).flips == 399
    with pytest.raises(UsageError, match=r"alpha 1e-07 should lie between 1e-06 and 0\.5: no number of sign flips"):
        DropRule(alpha=1e-7)


def test_a_drop_of_exactly_the_margin_is_tolerated() -> None:
    """0.95 is no more than 5 % below 1, whatever the rounding says."""
    assert 1 - 0.95 > 0.05
    assert not evidence([1.0] * 20, [0.95] * 20, rng=rng()).dropped
    assert threshold([1.0] * 20, [0.95] * 20).outcome is Outcome.PASS
    assert threshold([1.0] * 20, [0.9499] * 20).outcome is Outcome.FAIL


def test_a_measure_may_point_down() -> None:
    """Where less is better, a rise is the drop."""
    before, after = [0.2] * 10, [0.2] * 4 + [0.9] * 6
    result = evidence(before, after, rng=rng(), lower_is_better=True)
    assert result.dropped
    assert result.p == 1 / 64
    assert (result.baseline, result.candidate) == (pytest.approx(0.2), pytest.approx(0.62))
    assert threshold(before, after, lower_is_better=True).outcome is Outcome.FAIL
    assert threshold(before, after).outcome is Outcome.PASS
    pair = PairedScores(baseline=before, candidate=after, lower_is_better=True)
    assert decide([pair], rng=rng())[0].reason.startswith("rose by 0.42, more than")


def test_repeats_of_one_query_count_once() -> None:
    """Three queries asked five times each are three things that changed, not fifteen."""
    before, after = [1] * 15, [0] * 15
    labels = [f"q{i // 5}" for i in range(15)]
    assert decide_alone(before, after)[0] is Outcome.FAIL
    outcome, reason = decide_alone(before, after, clusters=labels)
    assert outcome is Outcome.INCONCLUSIVE
    assert "3 of 3 clusters" in reason
    assert decide_alone(before, before, clusters=iter(labels)) == (Outcome.PASS, "none of 3 clusters changed")


def test_the_plain_rule() -> None:
    """A mean that fell by more than 5 % fails, whatever the spread; from 0 nothing can fall; nothing measured fails."""
    result = threshold([1, 1, 1, 0], [1, 1, 0.5, 0])
    assert (result.outcome, result.baseline, result.candidate) == (Outcome.FAIL, 0.75, 0.625)
    assert result.reason == "dropped by 0.125, more than 0.0375"
    assert threshold([0, 0], [0, 0.5]).reason == "rose by 0.25, no more than 0"
    assert threshold([0, 0], [0, 0]).outcome is Outcome.PASS
    assert threshold([], []).outcome is Outcome.FAIL


@pytest.mark.slow
@thorough
@given(scores, st.sampled_from([0.01, 0.05, 0.1]))
def test_the_rule_is_the_specification(pairs: list[tuple[float, float]], alpha: float) -> None:
    """The outcome is that of statistics.md, section 1, put together from the functions it names."""
    before, after = np.array(pairs).T
    (verdict,) = decide([(before, after)], rng=rng(), rule=DropRule(alpha=alpha))
    d = after - before
    margin = max(0.05 * before.mean(), min(0.01, before.mean() / 2) if before.any() else 0.01)
    p = permutation(d, rng=rng(), alternative="less").p
    low = non_inferior(d, margin, alpha=alpha).low
    if p <= alpha and d.mean() < -margin - 1e-9:
        expected = Outcome.FAIL
    elif not d.any() or (low is not None and low > -margin):
        expected = Outcome.PASS
    else:
        expected = Outcome.INCONCLUSIVE
    assert verdict.outcome is expected


@st.composite
def gates(draw: st.DrawFn) -> list[tuple[list[float], list[float]]]:
    """Scores of one to four measures on the same queries."""
    n = draw(st.integers(1, 30))
    column = st.lists(st.sampled_from(FRACTIONS), min_size=n, max_size=n)
    return draw(st.lists(st.tuples(column, column), min_size=1, max_size=4))


@pytest.mark.slow
@thorough
@given(gates())
def test_measures_are_corrected_together(measures: list[tuple[list[float], list[float]]]) -> None:
    """Adjusted values are those of Westfall and Young, no smaller than can be reached, and no smaller than p."""
    together = decide(measures, rng=rng())
    table = [np.subtract(after, before) for before, after in measures]
    expected = westfall_young(table, rng=rng(), alternative="less")
    assert [verdict.adjusted for verdict in together] == expected.adjusted.tolist()
    for verdict in together:
        assert verdict.evidence is not None
        assert verdict.adjusted is not None
        assert verdict.reachable is not None
        assert verdict.evidence.p <= verdict.adjusted
        assert verdict.reachable <= verdict.adjusted
        if verdict.outcome is Outcome.FAIL:
            assert verdict.testable


@pytest.mark.slow
@thorough
@given(scores)
def test_a_drop_and_its_opposite_never_both_fail(pairs: list[tuple[float, float]]) -> None:
    """No pair of runs is worse than each other."""
    before, after = np.array(pairs).T
    assert [decide_alone(before, after)[0], decide_alone(after, before)[0]] != [Outcome.FAIL, Outcome.FAIL]


@pytest.mark.parametrize("least", [(0.5 - 1e-9, 2), (0.05, 5), (0.01, 7)])
def test_how_many_must_change(least: tuple[float, int]) -> None:
    """k losses have p = 2^-k at best: 5 of them for 0.05, 7 for 0.01."""
    assert DropRule(alpha=least[0]).least_changed == least[1]


@each(
    "arguments",
    [{"relative": -0.1}, {"absolute": math.nan}, {"alpha": 0.0}, {"alpha": 0.5}, {"resamples": 0}],
)
def test_rules_without_sense_are_refused(arguments: dict[str, float]) -> None:
    """Tolerances below 0, levels outside 0 to 0.5 and no resamples are refused."""
    with pytest.raises(UsageError):
        DropRule(**arguments)  # type: ignore[arg-type]
    if "relative" in arguments:
        with pytest.raises(UsageError, match="relative"):
            threshold([1], [1], relative=-0.1)
