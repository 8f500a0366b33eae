"""How often the gate is wrong: false alarms where nothing changed, and real drops that it lets through.

Every number here is a share of simulated experiments, so it has a standard error, which each docstring states. Seeds
are fixed: a test that fails after a change of the rule fails because of that change.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import worlds
from many import run_tests
from worlds import HARM, HARM_BY_THE_MARGIN, MEASURES, Scores

from karat.stats import DropRule, Outcome, decide, holm, make_generator, sample_size, threshold, westfall_young

pytestmark = pytest.mark.calibration
RULE = DropRule(resamples=999)


def outcomes(runs: Scores, measures: tuple[str, ...]) -> list[set[str]]:
    """Decide on each experiment; return the outcomes of its measures."""
    before, after = (np.stack([runs[name][side] for name in measures], axis=1) for side in (0, 1))
    tests = run_tests(before, after, RULE)
    table = np.where(tests.fails, "fail", np.where(tests.passes, "pass", "inconclusive"))
    return [set(row) for row in table.tolist()]


def test_many_decisions_at_once_are_those_of_decide() -> None:
    """Outcomes and p-values of 40 experiments equal those of decide; p is not computed if it cannot matter."""
    runs = worlds.runs(np.random.default_rng(1), (40, 30), harm=HARM_BY_THE_MARGIN)
    before, after = (np.stack([runs[name][side] for name in MEASURES], axis=1) for side in (0, 1))
    tests, seen = run_tests(before, after, RULE), outcomes(runs, MEASURES)
    for i in range(40):
        verdicts = decide(list(zip(before[i], after[i], strict=True)), rng=make_generator(0, "gate"), rule=RULE)
        assert {verdict.outcome.value for verdict in verdicts} == seen[i]
        if not np.isnan(tests.adjusted[i, 0]):
            assert [verdict.adjusted for verdict in verdicts] == tests.adjusted[i].tolist()
    assert 0 < np.isnan(tests.adjusted[:, 0]).sum() < 40


def share(experiments: list[set[str]], outcome: str) -> float:
    """Return the share of experiments in which any measure has this outcome."""
    return sum(outcome in seen for seen in experiments) / len(experiments)


@cache
def unchanged(noise: float) -> Scores:
    """Return 2,000 experiments with 30 queries each in which nothing changed."""
    return worlds.runs(np.random.default_rng(int(100 * noise)), (2_000, 30), noise=noise)


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_a_gate_of_four_measures_rarely_fires_at_nothing(noise: float) -> None:
    """With 30 queries and no change fewer runs fail than the level allows.

    Of 2,000 experiments: the standard error is 0.5 points at 5 %.
    """
    assert share(outcomes(unchanged(noise), MEASURES), "fail") <= 0.05


@pytest.mark.parametrize(("n", "experiments"), [(30, 700), (50, 400), (100, 250), (300, 100)])
def test_the_correction_keeps_the_level_and_uses_more_of_it_than_holm(n: int, experiments: int) -> None:
    """Without a change, any of four correlated measures is significant in at most 5 %; by Holm it is in fewer.

    Two standard errors are the room above the level.
    """
    runs = worlds.runs(np.random.default_rng(n), (experiments, n), noise=0.5)
    table = np.stack([after - before for before, after in (runs[measure] for measure in MEASURES)], axis=1)
    rng = np.random.default_rng(12)
    tests = [westfall_young(rows, rng=rng, resamples=999, alternative="less") for rows in table]
    together = np.mean([test.adjusted.min() <= 0.05 for test in tests])
    by_holm = np.mean([holm(test.p).min() <= 0.05 for test in tests])
    assert together <= 0.05 + 2 * (0.05 * 0.95 / experiments) ** 0.5
    assert by_holm <= together
    if n == 30:
        assert by_holm < 0.8 * together


@pytest.mark.parametrize(("lost", "low", "high"), [(4, 0.0, 0.0), (5, 0.9, 1.0), (6, 0.98, 1.0)])
def test_queries_that_are_lost_outright_are_caught(lost: int, low: float, high: float) -> None:
    """Of 30 queries that worked and did not change, five are caught by four measures in at least 90 %, six in 98 %.

    Four cannot be: p is at least 1/16. With Holm's correction five and six are never caught: 4/32 and 4/64. Of 1,000
    experiments the standard error is below one point.
    """
    runs = worlds.runs(np.random.default_rng(9), (1_000, 30), noise=0.0)
    rng = np.random.default_rng(10)
    before, after = (
        {name: pair[0] for name, pair in runs.items()},
        {name: pair[0].copy() for name, pair in runs.items()},
    )
    for experiment in range(1_000):
        working = np.flatnonzero(before["RR@10"][experiment])
        gone = rng.choice(working, lost, replace=False)
        for scores in after.values():
            scores[experiment, gone] = 0.0
    changed = {name: (before[name], after[name]) for name in MEASURES}
    assert low <= share(outcomes(changed, MEASURES), "fail") <= high
    if lost == 4:
        assert share(outcomes(changed, MEASURES), "inconclusive") == 1


def test_a_gate_of_one_measure_stays_below_its_level() -> None:
    """Alone, a measure has the whole level for itself: 3.7 % of the runs fail, below 5 % (standard error 0.42)."""
    assert share(outcomes(unchanged(0.3), ("RR@10",)), "fail") <= 0.05


def test_the_plain_rule_fires_at_nothing() -> None:
    """On the same runs a drop of a mean by 5 % fires in 12.6 % for RR@10 alone, and in 25 % for any of four measures.

    The standard errors are 0.4 and 0.6 points: both are far above the 5 % that a test would have.
    """
    fired = {
        measure: np.array(
            [threshold(*pair).outcome is Outcome.FAIL for pair in zip(*unchanged(0.3)[measure], strict=True)]
        )
        for measure in MEASURES
    }
    assert fired["RR@10"].mean() > 0.10
    assert np.any(list(fired.values()), axis=0).mean() > 0.20


@pytest.mark.parametrize("change", [{"harm": HARM}, {"lost": 0.2}], ids=["ranked lower", "not indexed"])
def test_a_drop_by_a_fifth_is_caught(change: dict[str, float]) -> None:
    """With 50 queries at least 80 % of the runs whose mean dropped by 20 % fail, in a gate of four measures.

    Where all relevant documents are ranked lower nearly all do, where a fifth of the queries lost theirs more than
    87 %. Of 1,000 experiments: the standard error is 1.1 points.
    """
    runs = worlds.runs(np.random.default_rng(3), (1_000, 50), **change)
    before, after = runs["RR@10"]
    assert 1 - after.mean() / before.mean() == pytest.approx(0.2, abs=0.01)
    assert share(outcomes(runs, MEASURES), "fail") >= 0.80


def test_a_drop_by_the_margin_rarely_passes() -> None:
    """A true drop of exactly the margin is ruled out in about 5 % of the runs of 100 queries, as the level says.

    Of 2,000 experiments: the standard error is 0.5 points. The t interval is an approximation for such scores, hence 2
    points of room.
    """
    runs = worlds.runs(np.random.default_rng(4), (2_000, 100), harm=HARM_BY_THE_MARGIN)
    before, after = runs["RR@10"]
    assert 1 - after.mean() / before.mean() == pytest.approx(0.05, abs=0.004)
    assert share(outcomes(runs, ("RR@10",)), "pass") == pytest.approx(0.05, abs=0.02)


def test_the_number_of_queries_that_is_named_is_enough() -> None:
    """With as many queries as an inconclusive run without a drop asks for, 80 % of the unchanged runs pass.

    The spread of 30,000 queries gives the number; of 500 experiments with as many queries each, the standard error is
    1.8 points.
    """
    before, after = (scores.ravel() for scores in worlds.runs(np.random.default_rng(5), (1, 30_000))["RR@10"])
    (verdict,) = decide([(before, after)], rng=np.random.default_rng(6))
    weighed = verdict.evidence
    assert weighed is not None
    assert weighed.sd is not None
    assert weighed.needed is None, "there are enough"
    needed = sample_size(weighed.margin, weighed.sd, alpha=weighed.rule.alpha, sides=1)
    runs = worlds.runs(np.random.default_rng(7), (500, needed))
    assert share(outcomes(runs, ("RR@10",)), "pass") == pytest.approx(0.80, abs=0.05)


@pytest.mark.parametrize("kind", ["rare disasters", "rare successes", "ranks"])
def test_variants_of_a_sweep_share_the_level(kind: str) -> None:
    """Ten variants and their baseline are the same: any gain is found in about 5 % of the sweeps.

    The differences share the baseline, so that they are not quite symmetric together. The rates are 3 to 6 %; of 400
    sweeps the standard error is 1.1 points, and three of them are the room above the level.
    """
    rng = np.random.default_rng(5)
    acceptances = 0
    for _ in range(400):
        draws = rng.random((11, 30)) < 0.1
        scores = 1 / rng.geometric(0.5, (11, 30)) if kind == "ranks" else np.where(draws, 1.0, 0.0)
        gains = (scores[1:] - scores[0]) * (-1 if kind == "rare disasters" else 1)
        test = westfall_young(gains, rng=rng, resamples=399, alternative="greater")
        acceptances += bool(test.adjusted.min() <= 0.05)
    assert acceptances / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
