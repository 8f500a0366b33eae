"""Lost answers: what their scores could have been, and that losing one never makes a decision better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from karat.core import UsageError
from karat.stats import DropRule, Outcome, PairedScores, Verdict, decide, permutation
from karat.stats._lost import find_worst_case
from karat.stats._paired import bounds
from karat.stats._sample import sample


def decide_one(before: list[float], after: list[float], lost: list[int], **fields: object) -> Verdict:
    """Decide on one measure, of which some queries are lost."""
    mask = [i in lost for i in range(len(before))]
    (verdict,) = decide(
        [PairedScores(before, after, lost=mask, **fields)],  # type: ignore[arg-type]
        rng=np.random.default_rng(1),
    )
    return verdict


def test_losing_a_gain_does_not_turn_inconclusive_into_pass() -> None:
    """By hand: of 30 queries one rose from 0 to 1, and the bound 1/30 - 1.699 sqrt(1/30/30) = -0.0233 is below -0.02.

    Without its answer nothing changed, and the drop could still be as large.
    """
    before = [0.4] * 29 + [0.0]
    rose = decide_one(before, [0.4] * 29 + [1.0], [])
    lost = decide_one(before, before, [29])
    assert rose.outcome is lost.outcome is Outcome.INCONCLUSIVE
    assert rose.evidence is not None
    assert lost.evidence is not None
    assert rose.evidence.low == pytest.approx(-0.0233, abs=5e-5)
    assert lost.evidence.low == pytest.approx(rose.evidence.low)
    assert lost.reason.startswith(
        "the mean did not move, and the drop could be as large as 0.0233, whatever the 1 lost"
    )
    assert decide_one(before, before, []).outcome is Outcome.PASS


def test_a_pass_that_holds_whatever_was_lost() -> None:
    """With a baseline of 0.8 the margin is 0.04, and one lost query of 300 that hardly worked cannot matter."""
    before = [0.8] * 299 + [0.1]
    verdict = decide_one(before, [0.8] * 299 + [0.0], [299])
    assert verdict.outcome is Outcome.PASS
    assert "is ruled out, whatever the 1 lost query would have scored: it is at most" in verdict.reason
    assert verdict.evidence is not None
    assert verdict.evidence.p_worse < 0.05


def test_scores_without_a_limit_do_not_pass() -> None:
    """A gain can have any size, so nobody knows what a lost query would have had."""
    verdict = decide_one([2.0] * 300, [2.0] * 299 + [0.0], [299])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "nobody knows what the 1 lost query would have scored" in verdict.reason
    assert verdict.evidence is not None
    assert verdict.evidence.p_worse == 1


def test_losing_an_answer_does_not_hide_a_drop_that_was_shown() -> None:
    """The corrected p of the second measure rises from 0.035 to 0.066 because the first one, unrelated, lost a query.

    Its own p stays at 0.035: with a lost query it is the one that counts.
    """
    before = [[0.5, 0, 0, 0, 0.5, 0.5, 0.25, 0.5, 0.25, 0.5], [0.5, 1, 1, 0.5, 0, 0.5, 0.5, 0.5, 0.5, 1]]
    after = [[0.5, 0, 0.5, 1, 1, 0, 0.25, 0.5, 0.25, 0.5], [0, 0.25, 0.5, 0.25, 0.5, 0, 0.5, 0.25, 0, 1]]
    gone = [[*row[:8], 0.0, *row[9:]] for row in after]
    mask = [i == 8 for i in range(10)]
    rng = np.random.default_rng(1)
    shown = decide(list(zip(before, after, strict=True)), rng=rng)[1]
    hidden = decide(list(zip(before, gone, strict=True)), rng=rng)[1]
    lost = decide([PairedScores(*pair, lost=mask) for pair in zip(before, gone, strict=True)], rng=rng)[1]
    assert [verdict.outcome.value for verdict in (shown, hidden, lost)] == ["fail", "inconclusive", "fail"]
    assert lost.adjusted == shown.adjusted == 0.03515625
    assert "p = 0.0352, not corrected: answers were lost" in lost.reason


def test_clusters_with_lost_queries_are_refused() -> None:
    """The bound over lost queries is that of independent ones."""
    with pytest.raises(UsageError, match="lost queries cannot be combined with clusters"):
        decide([PairedScores([1, 1], [1, 0], lost=[False, True])], rng=np.random.default_rng(1), clusters="ab")


SCORES = st.integers(0, 10).map(lambda value: value / 10)


@pytest.mark.slow
@given(st.data(), st.integers(2, 8), st.booleans(), st.sampled_from(["mean", "geometric"]))
def test_the_bound_is_below_every_score_that_could_have_been(
    data: st.DataObject, n: int, less: bool, scale: str
) -> None:
    """The bound is the lowest over all combinations of ends, tried one by one, and below that of any scores between."""
    less = less and scale == "mean"
    before, after, inside = (np.array(data.draw(st.lists(SCORES, min_size=n, max_size=n))) for _ in range(3))
    lost = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))

    def bound(scores: np.ndarray) -> float:
        pair = PairedScores(before, np.where(lost, scores, after), less, scale)  # type: ignore[arg-type]
        low = bounds(sample(pair.differences()), 0.05)[0]
        assert low is not None
        return low

    pair = PairedScores(before, after, less, scale, lost)  # type: ignore[arg-type]
    spread = pair.spread_lost(sample(pair.differences()), 0.05)
    assert spread is not None
    low = bounds(spread, 0.05)[0]
    assert low is not None
    assert low == pytest.approx(min(bound(np.array(ends)) for ends in product((0.0, 1.0), repeat=n)), abs=1e-12)
    assert low <= bound(inside) + 1e-12
    assert low <= bound(after) + 1e-12


def test_one_query_has_no_spread() -> None:
    """There is nothing to choose."""
    one = np.array([0.0])
    assert find_worst_case(one, np.array([True]), one - 0.5, one + 0.5, 0.05).values.tolist() == [-0.5]


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=10), st.data())
def test_the_exact_p_for_a_drop_never_rises_if_a_difference_falls(values: list[int], data: st.DataObject) -> None:
    """A flip is as low as the data if the flipped differences have a sum of at least 0: less often if one is lower."""
    place = data.draw(st.integers(0, len(values) - 1))
    lower = [value - 3 * (i == place) for i, value in enumerate(values)]
    rng = np.random.default_rng(1)
    before, after = (permutation(row, rng=rng, alternative="less").p for row in (values, lower))
    assert after <= before


def test_without_a_lost_query_nothing_is_different() -> None:
    """A mask without a mark, and none, give the same decisions to the last bit."""
    rng = np.random.default_rng(3)
    before, after = rng.random((2, 4, 40)).round(1)
    plain, masked = (
        decide([PairedScores(*pair, lost=lost) for pair in zip(before, after, strict=True)],
               rng=np.random.default_rng(1), rule=DropRule(relative=0.1))
        for lost in (None, np.zeros(40, bool))
    )  # fmt: skip
    assert plain == masked
