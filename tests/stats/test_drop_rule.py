"""The gate's rules on arrays: each branch by hand, then what must hold for all scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import FRACTIONS

from karat.core import UsageError
from karat.stats import DropRule, Outcome, decide, evidence, holm, non_inferior, permutation, threshold, verdicts
from karat.stats._permutation import EXACT
from strategies import thorough

scores = st.lists(st.tuples(st.sampled_from(FRACTIONS), st.sampled_from(FRACTIONS)), min_size=1, max_size=30)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def one(before: object, after: object, rule: DropRule | None = None, clusters: object = None) -> tuple[Outcome, str]:
    """Decide on a single measure."""
    (found,) = decide([(before, after)], rng=rng(), rule=rule, clusters=clusters)  # type: ignore[list-item,arg-type]
    return found.outcome, found.reason


def test_a_large_drop_fails() -> None:
    """Six of ten queries fell from 1 to 0: p is 1/64, and the mean fell by 0.6, more than 5 % of 1."""
    (found,) = decide([([1] * 10, [1] * 4 + [0] * 6)], rng=rng())
    assert found.outcome is Outcome.FAIL
    assert found.evidence is not None
    assert found.evidence.p == found.adjusted == 1 / 64
    assert (found.evidence.margin, found.evidence.difference) == (0.05, pytest.approx(-0.6))
    assert found.reason == "dropped by 0.6, more than 0.05 (one-sided p = 0.0156)"


def test_nothing_changed_passes() -> None:
    """Equal scores pass, even a single one, even where there is no margin, even at 0."""
    assert one([0.5] * 10, [0.5] * 10) == (Outcome.PASS, "none of 10 queries changed")
    assert one([1], [1])[0] is Outcome.PASS
    assert one([0], [0], DropRule(absolute=0))[0] is Outcome.PASS
    assert one([0.3], [0.1 + 0.2])[0] is Outcome.PASS


def test_a_rise_passes() -> None:
    """Queries that got better, or hardly moved, rule a drop out."""
    before = np.linspace(0.2, 0.8, 50)
    assert one(before, before + 0.01 * np.sin(np.arange(50)))[0] is Outcome.PASS
    assert one(before, before + 0.1)[1] == "a drop by more than 0.025 is ruled out: it is at most 0"


def test_a_significant_drop_within_the_margin_passes() -> None:
    """All of 40 queries fell a little: surely a drop, and surely one that is tolerated."""
    before = np.linspace(0.5, 1.0, 40)
    (found,) = decide([(before, before - 0.01)], rng=rng())
    assert found.outcome is Outcome.PASS
    assert found.evidence is not None
    assert found.evidence.p < 0.001


def test_a_few_changed_queries_are_inconclusive() -> None:
    """Four losses can never be significant, whatever their size, and the reason says so."""
    outcome, reason = one([1] * 10, [1] * 6 + [0] * 4)
    assert outcome is Outcome.INCONCLUSIVE
    assert reason == "too few changed to tell: 4 changed, and fewer than 5 cannot reach 0.05"


def test_noise_is_inconclusive_with_the_number_of_queries_needed() -> None:
    """Wins and losses that cancel in 10 queries neither show a drop nor rule one out; 6.18 sd^2 / m^2 queries would."""
    before, after = [1, 0] * 5 + [1, 1], [0, 1] * 5 + [1, 1]
    (found,) = decide([(before, after)], rng=rng())
    assert found.outcome is Outcome.INCONCLUSIVE
    assert (
        found.reason
        == "the mean did not move; a drop by more than 0.0292 is neither shown (one-sided p = 0.623) nor ruled out"
    )
    weighed = found.evidence
    assert weighed is not None
    assert weighed.sd is not None
    assert weighed.needed == pytest.approx(6.18 * weighed.sd**2 / weighed.margin**2, rel=0.01)


def test_a_single_query_that_changed_is_inconclusive() -> None:
    """One query has no spread: there is no bound, and no number of queries."""
    (found,) = decide([([1.0], [0.0])], rng=rng())
    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.evidence is not None
    assert (found.evidence.low, found.evidence.sd, found.evidence.needed) == (None, None, None)


def test_no_margin_needs_more_queries_than_there_are() -> None:
    """A margin of 0, or next to it, cannot be ruled out by any number of queries."""
    for absolute in (0.0, 1e-12):
        found = evidence([0.0, 0.0, 0.0], [0.5, 0.0, 0.0], rng=rng(), rule=DropRule(absolute=absolute))
        assert found.sd is not None
        assert found.needed is None


def test_nothing_measured_fails() -> None:
    """A measure without scores fails and takes no part in the correction; it never passes silently (H07)."""
    nothing, drop = decide([([], []), ([1] * 10, [1] * 4 + [0] * 6)], rng=rng())
    assert (nothing.outcome, nothing.evidence, nothing.adjusted) == (Outcome.FAIL, None, None)
    assert nothing.reason.startswith("nothing was measured")
    assert drop.adjusted == 1 / 64
    with pytest.raises(UsageError, match="0 baseline and 2 candidate"):
        decide([([], [1, 1])], rng=rng())
    assert decide([], rng=rng()) == verdicts([]) == ()


def test_more_measures_make_each_surer() -> None:
    """With p = 1/32 a drop fails alone, and is inconclusive beside another measure."""
    drop = ([1] * 10, [1] * 5 + [0] * 5)
    same = ([1] * 10, [1] * 10)
    assert [found.outcome.value for found in decide([drop], rng=rng())] == ["fail"]
    assert [found.outcome.value for found in decide([drop, same], rng=rng())] == ["inconclusive", "pass"]


def test_the_margin_is_at_least_the_absolute_one() -> None:
    """5 % of the baseline's mean, but never less than 0.01; a baseline of 0 is no division by 0 (ERR-14)."""
    assert [DropRule().margin(mean) for mean in (0.0, 0.1, 0.2, 1.0)] == pytest.approx([0.01, 0.01, 0.01, 0.05])
    assert one([0.0] * 6, [0.5] * 6)[0] is Outcome.PASS


def test_a_drop_of_exactly_the_margin_is_tolerated() -> None:
    """0.95 is no more than 5 % below 1, whatever the rounding says."""
    assert 1 - 0.95 > 0.05
    assert not evidence([1.0] * 20, [0.95] * 20, rng=rng()).dropped
    assert threshold([1.0] * 20, [0.95] * 20).outcome is Outcome.PASS
    assert threshold([1.0] * 20, [0.9499] * 20).outcome is Outcome.FAIL


def test_a_measure_may_point_down() -> None:
    """Where less is better, a rise is the drop."""
    before, after = [0.2] * 10, [0.2] * 4 + [0.9] * 6
    found = evidence(before, after, rng=rng(), lower_is_better=True)
    assert found.dropped
    assert found.p == 1 / 64
    assert (found.baseline, found.candidate) == (pytest.approx(0.2), pytest.approx(0.62))
    assert threshold(before, after, lower_is_better=True).outcome is Outcome.FAIL
    assert threshold(before, after).outcome is Outcome.PASS


def test_repeats_of_one_query_count_once() -> None:
    """Three queries asked five times each are three things that changed, not fifteen."""
    before, after = [1] * 15, [0] * 15
    labels = [f"q{i // 5}" for i in range(15)]
    assert one(before, after)[0] is Outcome.FAIL
    outcome, reason = one(before, after, clusters=labels)
    assert outcome is Outcome.INCONCLUSIVE
    assert "3 changed" in reason
    assert one(before, before, clusters=iter(labels)) == (Outcome.PASS, "none of 3 clusters changed")


def test_the_plain_rule() -> None:
    """A mean that fell by more than 5 % fails, whatever the spread; from 0 nothing can fall; nothing measured fails."""
    found = threshold([1, 1, 1, 0], [1, 1, 0.5, 0])
    assert (found.outcome, found.baseline, found.candidate) == (Outcome.FAIL, 0.75, 0.625)
    assert found.reason == "dropped by 0.125, more than 0.0375"
    assert threshold([0, 0], [0, 0.5]).reason == "rose by 0.25, no more than 0"
    assert threshold([0, 0], [0, 0]).outcome is Outcome.PASS
    assert threshold([], []).outcome is Outcome.FAIL


@pytest.mark.slow
@thorough
@given(scores, st.sampled_from([0.01, 0.05, 0.1]))
def test_the_rule_is_the_specification(pairs: list[tuple[float, float]], alpha: float) -> None:
    """The outcome is that of statistics.md, section 1, put together from the functions it names."""
    before, after = np.array(pairs).T
    (found,) = decide([(before, after)], rng=rng(), rule=DropRule(alpha=alpha))
    d = after - before
    margin = max(0.05 * before.mean(), 0.01)
    p = permutation(d, rng=rng(), alternative="less").p
    low = non_inferior(d, margin, alpha=alpha).low
    if p <= alpha and d.mean() < -margin - 1e-9:
        expected = Outcome.FAIL
    elif not d.any() or (low is not None and low > -margin):
        expected = Outcome.PASS
    else:
        expected = Outcome.INCONCLUSIVE
    assert found.outcome is expected


@pytest.mark.slow
@thorough
@given(st.lists(scores, min_size=1, max_size=5))
def test_measures_are_corrected_together(measures: list[list[tuple[float, float]]]) -> None:
    """Adjusted values are Holm's over the gate's measures, and no correction turns a pass into a failure."""
    columns = [tuple(np.array(pairs).T) for pairs in measures]
    together = decide(columns, rng=rng())
    p = [found.evidence.p for found in together if found.evidence]
    assert [found.adjusted for found in together] == holm(p).tolist()
    for found, column in zip(together, columns, strict=True):
        (alone,) = decide([column], rng=rng())
        assert found.evidence is not None
        if found.outcome is Outcome.FAIL and found.evidence.changed <= EXACT:  # beyond, each has drawn its own flips
            assert alone.outcome is Outcome.FAIL


@pytest.mark.slow
@thorough
@given(scores)
def test_a_drop_and_its_opposite_never_both_fail(pairs: list[tuple[float, float]]) -> None:
    """No pair of runs is worse than each other."""
    before, after = np.array(pairs).T
    assert [one(before, after)[0], one(after, before)[0]] != [Outcome.FAIL, Outcome.FAIL]


@pytest.mark.parametrize("least", [(0.5 - 1e-9, 2), (0.05, 5), (0.01, 7)])
def test_how_many_must_change(least: tuple[float, int]) -> None:
    """k losses have p = 2^-k at best: 5 of them for 0.05, 7 for 0.01."""
    assert DropRule(alpha=least[0]).least_changed == least[1]


@pytest.mark.parametrize(
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
