"""How often a gate is wrong: simulated runs, decided by the gate itself."""

from __future__ import annotations

import numpy as np
import pytest
from gating import run_of

from evaluations import make_evaluation
from karat.core import UsageError
from karat.gate import Policy, Rule
from karat.gate.power import describe_rates, simulate_losses, simulate_noise

TESTED = Policy(rules=tuple(Rule(metric=name, non_inferior=True) for name in ("RR", "R@5")))
PERFECT = run_of({"RR": [1.0] * 30, "R@5": [1.0] * 30})


def test_progress_counts_the_runs_up_to_the_end() -> None:
    """Each simulated run is counted, and what is not needed any more is done at once."""
    noise: list[tuple[int, int]] = []
    simulate_noise(PERFECT, TESTED, runs=3, progress=lambda *far: noise.append(far))
    assert noise == [(1, 3), (2, 3), (3, 3)]
    losses: list[tuple[int, int]] = []
    policy = Policy(rules=(Rule(metric="RR", min=1.0),))  # the first loss is seen by every run
    simulate_losses(PERFECT, policy, (1, 2, 3), runs=2, progress=lambda *far: losses.append(far))
    assert losses == [(1, 6), (2, 6), (6, 6)]


@pytest.mark.slow
def test_losses_are_seen_from_five_on() -> None:
    """Of 30 perfect queries four lost ones cannot be significant, and five always are; then no more are tried."""
    rates = {rate.lost: rate for rate in simulate_losses(PERFECT, TESTED, runs=20)}
    assert list(rates) == [1, 2, 3, 4, 5]
    assert [rates[lost].fail for lost in rates] == [0, 0, 0, 0, 1]
    assert rates[4].inconclusive == 1
    assert {(rate.n, rate.runs) for rate in rates.values()} == {(30, 20)}


def test_only_what_worked_can_be_lost() -> None:
    """Three queries of six had an answer, and a measure where lower is better does not become better."""
    run = run_of({"RR": [1.0] * 3 + [0.0] * 3, "DupRate@10": [0.5] * 6})
    policy = Policy(rules=(Rule(metric="DupRate@10", max=0.1), Rule(metric="RR", min=0.2)))
    rates = simulate_losses(run, policy, (1, 2, 3, 4), runs=5)
    assert [rate.lost for rate in rates] == [1]
    assert rates[0].fail == 1
    limits = simulate_losses(run, Policy(rules=(Rule(metric="RR", min=0.2),)), (1, 2, 3, 4), runs=5)
    assert [(rate.lost, rate.fail) for rate in limits] == [(1, 0), (2, 1)]


def test_a_query_that_must_pass_is_lost_with_the_others() -> None:
    """All six lose their answers, so the one that must have one does."""
    from karat.gate import Must

    rates = simulate_losses(run_of({"RR": [1.0] * 6}), Policy(must_pass=(Must(query="q1"),)), (6,), runs=3)
    assert rates[0].fail == 1


@pytest.mark.slow
def test_chance_alone_fails_at_the_level() -> None:
    """Of 150 runs that differ by chance at most 9 % fail (5 % and two standard errors), from one run and from two."""
    rng = np.random.default_rng(4)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], (2, 40))
    first, second = (run_of({"RR": list(row), "R@5": list(row > 0.3)}) for row in values)
    for other in (None, second):
        rates = simulate_noise(first, TESTED, other, runs=150)
        assert rates.fail <= 0.09
        assert rates.fail + rates.inconclusive + rates.passed == pytest.approx(1)


def test_the_same_seed_gives_the_same_rates() -> None:
    """And a run that is the same as the baseline never fails."""
    run = run_of({"RR": [1.0, 0.5, 0.0] * 8, "R@5": [1.0, 1.0, 0.0] * 8})
    assert simulate_noise(run, TESTED, runs=10) == simulate_noise(run, TESTED, runs=10)
    assert simulate_noise(run, TESTED, run, runs=5).passed == 1


def test_the_sentence_has_both_sides() -> None:
    """False alarms, the largest loss that is mostly missed, and the smallest that is mostly seen."""
    noise = simulate_noise(PERFECT, TESTED, runs=5)
    text = describe_rates(noise, simulate_losses(PERFECT, TESTED, runs=5))
    assert text == (
        "false alarms: 0 % of runs without a real change fail; missed: a loss of 4 of 30 queries is seen in 0 %; "
        "seen: a loss of 5 of 30 in 100 %"
    )


def test_means_alone_are_refused() -> None:
    """A baseline of means has no queries to lose."""
    with pytest.raises(UsageError, match="no scores of single queries to simulate from"):
        simulate_losses(make_evaluation(name="old", means={"RR": 1.0}), TESTED)
