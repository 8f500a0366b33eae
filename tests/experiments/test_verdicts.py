"""Verdicts on variants: what has to be shown, corrected for how many were tried."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from evaluations import make_evaluation
from karat.evaluation import Evaluation
from karat.experiments._verdicts import Claims, Objective, decide_variants, undominated, weigh_claims
from karat.gate import Decision, Policy, Rule, decide
from karat.stats import evidence

TESTED = Policy(rules=(Rule(metric="RR", non_inferior=True),))
GAIN, NO_GAIN = Objective(measure="RR", required=True), Objective(measure="RR")


def shot(scores: list[float], name: str = "a") -> Evaluation:
    """A run with these reciprocal ranks."""
    queries = tuple(f"q{i:03}" for i in range(len(scores)))
    return make_evaluation(
        name=name,
        golden={},
        system={},
        fingerprint="",
        values={"RR": {query: (value,) for query, value in zip(queries, scores, strict=True)}},
        means={"RR": sum(scores) / len(scores)},
        queries=queries,
    )


def decided(changes: list[float], policy: Policy = TESTED, before: float = 0.5) -> Decision:
    """What a gate says of a run in which each query changed so much."""
    return decide(shot([before + change for change in changes]), shot([before] * len(changes)), policy)


def verdicts(
    decisions: list[Decision], objective: Objective = NO_GAIN, *, seed: int = 0
) -> list[tuple[str, float | None]]:
    """The words and corrected p-values of variants that were tried together."""
    claims = [weigh_claims(decision, "RR", seed=seed) for decision in decisions]
    return [(variant.word, variant.corrected) for variant in decide_variants(decisions, claims, objective)]


@given(
    st.lists(st.sampled_from([-0.5, -0.25, -0.1, 0.0, 0.0, 0.1, 0.25, 0.5]), min_size=1, max_size=40),
    st.sampled_from([0.01, 0.04, 0.1]),
)
def test_the_p_of_not_worse_is_below_alpha_where_the_gate_passes(changes: list[float], margin: float) -> None:
    """The bound of the gate and the p that is corrected are two sides of one test; SciPy's t is the oracle."""
    from karat.stats import DropRule

    before = np.full(len(changes), 0.5)
    rule = DropRule(relative=0.0, absolute=margin)
    result = evidence(before, before + changes, rng=np.random.default_rng(0), rule=rule)
    if result.changed and abs(result.p_worse - rule.alpha) > 1e-9:
        assert result.ruled_out == (result.p_worse < rule.alpha)
    if len(set(changes)) > 1:
        oracle = scipy.stats.ttest_1samp(changes, -margin, alternative="greater").pvalue
        assert result.p_worse == pytest.approx(oracle, abs=1e-9)


def test_p_of_not_worse_with_clusters() -> None:
    """Repeats of one query are one cluster, and there are as many degrees of freedom as clusters, less one."""
    before, after, labels = [0.5] * 6, [0.5, 0.5, 0.4, 0.4, 0.6, 0.6], [1, 1, 2, 2, 3, 3]
    result = evidence(before, after, rng=np.random.default_rng(0), clusters=labels)
    assert result.p_worse == pytest.approx(
        scipy.stats.ttest_1samp([0, -0.1, 0.1], -0.025, alternative="greater").pvalue
    )


def test_a_single_query_shows_nothing_unless_it_is_as_it_was() -> None:
    """One difference has no spread; where nothing changed there is nothing to show."""
    assert evidence([0.5], [0.4], rng=np.random.default_rng(0)).p_worse == 1.0
    assert evidence([0.5], [0.5], rng=np.random.default_rng(0)).p_worse == 0.0
    assert evidence([0.5, 0.5], [0.6, 0.6], rng=np.random.default_rng(0)).p_worse == 0.0
    assert evidence([0.5, 0.5], [0.1, 0.1], rng=np.random.default_rng(0)).p_worse == 1.0


def test_variants_are_corrected_for_each_other() -> None:
    """The same gain of five queries in three variants is one test; gains on other queries are three.

    Alone p is 1/32. The three share no query: of their 15 signs at least one variant has all five alike with
    probability 1 - (31/32)^3.
    """
    alike = [Claims(gain=1 / 32, gains={f"q{i}": 0.1 * v for i in range(5)}) for v in (1, 2, 3)]
    apart = [Claims(gain=1 / 32, gains={f"q{v}{i}": 0.1 for i in range(5)}) for v in (1, 2, 3)]
    passed = decided([0.1] * 10)
    results = decide_variants([passed] * 3, alike, GAIN)
    assert [result.corrected for result in results] == [1 / 32] * 3
    assert {result.word for result in results} == {"ACCEPTED"}
    results = decide_variants([passed] * 3, apart, GAIN)
    assert [result.corrected for result in results] == [pytest.approx(1 - (31 / 32) ** 3)] * 3
    assert results[1].reason == "inconclusive: p = 0.031 would do alone, but for 3 variants it is p = 0.091"
    (alone,) = decide_variants([passed], [Claims(not_worse=0.04)], NO_GAIN)
    assert (alone.word, alone.reason) == ("ACCEPTED", "not worse by policy default; p = 0.04")


def test_the_weakest_claim_of_a_variant_is_corrected() -> None:
    """How far each query is above the tolerated drop of the measure with the largest p, and the gain if required."""
    variant = decided([0.0, 0.1, -0.02] * 4)
    claims = weigh_claims(variant, "RR")
    assert claims.not_worse == variant.checks[0].p_worse
    assert list(claims.margins.values()) == pytest.approx([0.025, 0.125, 0.005] * 4)
    assert list(claims.gains.values()) == pytest.approx([0.0, 0.1, -0.02] * 4)


def test_unchanged_variants_do_not_count() -> None:
    """Nothing has to be shown for a variant in which no query changed, and it takes nothing from the others."""
    same, up = decided([0.0] * 10), decided([0.1] * 5 + [0.02] * 5)
    results = decide_variants([same, up, same], [weigh_claims(variant, "RR") for variant in (same, up, same)], NO_GAIN)
    assert [result.corrected for result in results] == [None, results[1].p, None]
    assert [result.untested for result in results] == ["no query changed", "", "no query changed"]
    assert {result.word for result in results} == {"ACCEPTED"}


def test_changes_without_a_spread_are_no_test() -> None:
    """All queries rose alike: no chance has a part in it, and it is not said that none changed."""
    rose = decided([0.1] * 10)
    (result,) = decide_variants([rose], [weigh_claims(rose, "RR")], NO_GAIN)
    assert (result.word, result.p, result.untested) == ("ACCEPTED", None, "all queries changed alike on RR")
    assert result.reason == "not worse by policy default; all queries changed alike on RR"


def test_a_gain_that_could_not_be_tested_has_no_p() -> None:
    """Nor has it that of another test: the rule that it is not worse says nothing of the objective."""
    decision = decided([0.0, 0.1, 0.02] * 5)
    claims = weigh_claims(decision, "AP")
    assert claims.gain is None
    (result,) = decide_variants([decision], [claims], Objective(measure="AP", required=True))
    reason = "the baseline has no scores of AP for single queries"
    assert (result.p, result.corrected, result.untested) == (None, None, reason)
    assert (result.word, result.reason) == ("REJECTED", f"no gain is shown: {reason}")
    alone = decide(shot([1.0] * 5), None, Policy(name="beluga", rules=(Rule(metric="RR", min=0.7),)))
    (result,) = decide_variants([alone], [Claims()], GAIN)
    assert (result.p, result.reason) == (None, "no gain is shown: there is no baseline")


def test_all_that_has_to_be_shown_is_shown_together() -> None:
    """The larger of both p-values counts, and a gain that is not asked for does not."""
    decision = decided([0.0] * 10)
    weighed = [Claims(not_worse=0.001, gain=0.03), Claims(not_worse=0.02, gain=0.001)]
    assert [variant.p for variant in decide_variants([decision] * 2, weighed, GAIN)] == [0.03, 0.02]
    assert [variant.p for variant in decide_variants([decision] * 2, weighed, NO_GAIN)] == [0.001, 0.02]


def test_what_the_gate_fails_is_rejected_whatever_the_correction() -> None:
    """A fall of every query is told with the gate's reason, also among a hundred variants."""
    bad, good = decided([-0.25] * 20), decided([0.0] * 20)
    claims = [weigh_claims(decision, "RR") for decision in [bad] + [good] * 99]
    results = decide_variants([bad] + [good] * 99, claims, NO_GAIN)
    assert results[0].word == "REJECTED"
    assert results[0].reason.startswith("RR: dropped by 0.25, more than 0.025")
    assert {decision.word for decision in results[1:]} == {"ACCEPTED"}


def test_more_variants_do_not_save_one_that_fell() -> None:
    """A rule that looks for falls keeps the policy's own level: divided by many variants it would find none."""
    policy = Policy(rules=(Rule(metric="RR", significant_drop=True),))
    fell = decided([-0.2] * 6 + [0.0] * 10, policy)
    untouched = decided([0.0] * 16, policy)
    assert verdicts([fell] + [untouched] * 50)[0][0] == "REJECTED"


def test_inconclusive_is_rejected_and_said_so() -> None:
    """Who wants to change something has to show that it does no harm."""
    ((verdict, _),) = verdicts([decided([0.25, -0.25] * 6)])
    assert verdict == "REJECTED"
    (result,) = decide_variants([decided([0.25, -0.25] * 6)], [Claims(not_worse=0.4)], NO_GAIN)
    assert result.reason.startswith("inconclusive: RR: the mean did not move, and the drop could be as large as 0.")


def test_a_gain_is_tested_one_sided_and_exactly() -> None:
    """Ten of ten queries rose: 1 in 1,024; half rose and half fell: no gain."""
    up, even = decided([0.1] * 10), decided([0.01, -0.01] * 5)
    claims = [weigh_claims(decision, "RR") for decision in (up, even)]
    assert claims[0].gain == 1 / 1024
    results = decide_variants([up, even], claims, GAIN)
    assert results[0].word == "ACCEPTED"
    assert results[0].corrected is not None
    assert 1 / 1024 <= results[0].corrected <= 2 / 1024
    assert results[1].reason.startswith("no gain is shown: RR did not move, p = 0.")


def test_of_some_measures_less_is_better() -> None:
    """A fall of the share of duplicates is a gain."""
    policy = Policy(rules=(Rule(metric="DupRate@10", non_inferior=True),))
    values = {"DupRate@10": {f"q{i}": (0.5,) for i in range(8)}}
    less = {"DupRate@10": {f"q{i}": (0.3,) for i in range(8)}}
    before, after = (
        make_evaluation(name="a", values=column, means={"DupRate@10": 0.4},
                 queries=tuple(f"q{i}" for i in range(8)))
        for column in (values, less)
    )  # fmt: skip
    result = weigh_claims(decide(after, before, policy), "DupRate@10")
    assert result.gain == 1 / 256
    assert result.not_worse == 0.0


def test_a_policy_without_tests_accepts_by_its_limits_alone() -> None:
    """There is no p to correct, and the reason says so."""
    policy = Policy(name="threshold", rules=(Rule(metric="RR", max_drop_rel=0.05),))
    decision = decided([0.0] * 4, policy)
    (result,) = decide_variants([decision], [weigh_claims(decision, "RR")], NO_GAIN)
    assert (result.word, result.p, result.corrected) == ("ACCEPTED", None, None)
    assert result.reason == "passes policy threshold, which makes no test"
    (result,) = decide_variants([decision], [weigh_claims(decision, "RR")], GAIN)
    assert result.word == "REJECTED"


def test_without_a_baseline_nothing_is_shown() -> None:
    """What needs a baseline is inconclusive, and a gain on nothing is none."""
    alone = decide(shot([1.0] * 5), None, TESTED)
    outcome = weigh_claims(alone, "RR")
    assert outcome == Claims()
    (result,) = decide_variants([alone], [outcome], NO_GAIN)
    assert result.reason.startswith("inconclusive: RR: there is no baseline yet")
    floors = decide(shot([1.0] * 5), None, Policy(name="beluga", rules=(Rule(metric="RR", min=0.7),)))
    assert [decide_variants([floors], [Claims()], objective)[0].word for objective in (NO_GAIN, GAIN)] == [
        "ACCEPTED",
        "REJECTED",
    ]


def test_a_baseline_of_means_alone_shows_nothing() -> None:
    """A baseline of fit has no scores of single queries."""
    before = make_evaluation(name="old", means={"RR": 0.5})
    result = weigh_claims(decide(shot([1.0] * 5), before, TESTED), "RR")
    assert (result.not_worse, result.gain, result.change) == (1.0, None, None)


@pytest.mark.slow
def test_trying_many_does_not_accept_by_luck() -> None:
    """Ten variants without any effect: one by one some gain is found in a third of all sweeps, corrected in few."""
    rng = np.random.default_rng(5)
    lucky = corrected = 0
    sweeps = 60
    for _ in range(sweeps):
        # Ways of sorting equal things: gains and losses of the same size, one as likely as the other.
        variants = [decided(list(rng.choice([-0.002, 0.002], 16))) for _ in range(10)]
        claims = [weigh_claims(claim, "RR") for claim in variants]
        lucky += any(claim.gain is not None and claim.gain <= 0.05 for claim in claims)
        corrected += any(claim.word == "ACCEPTED" for claim in decide_variants(variants, claims, GAIN))
    assert lucky > 0.2 * sweeps
    assert corrected <= 0.1 * sweeps


@pytest.mark.slow
def test_the_smallest_p_passes_among_many_variants() -> None:
    """A clear gain is accepted among 300 variants without an effect: p is not multiplied by their number."""
    rng = np.random.default_rng(1)
    variants = [decided([0.2] * 30)] + [decided(list(rng.choice([-0.002, 0.002], 30))) for _ in range(300)]
    results = decide_variants(variants, [weigh_claims(variant, "RR") for variant in variants], GAIN)
    assert [result.word for result in results] == ["ACCEPTED"] + ["REJECTED"] * 300
    assert results[0].corrected is not None
    assert results[0].corrected < 0.01


@pytest.mark.slow
def test_the_front_of_many_points_is_a_sort() -> None:
    """Half a million points on one line take a moment, where all pairs would take days."""
    points = [(float(i), float(i)) for i in range(500_000)]
    assert all(undominated([*points, *points]))


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 3), st.integers(0, 3))), max_size=12))
def test_the_front_has_what_no_other_beats(points: list[tuple[float, float] | None]) -> None:
    """Every point off the front is beaten by one on it; equal points stand together; None stands nowhere."""
    on = undominated(points)
    front = [point for point, first in zip(points, on, strict=True) if first and point is not None]
    for point, first in zip(points, on, strict=True):
        if point is None:
            assert not first
            continue
        beaten = any(q >= point[0] and c <= point[1] and (q, c) != point for q, c in front)
        assert first != beaten
