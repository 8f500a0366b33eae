"""How often a gate on a noisy judge is wrong, with people's labels and without: simulated, from scores to outcomes.

Labels are 0 and 1, four of five answers are good, and three of ten change between the runs without getting worse. The
judge says yes to 95 % of the good answers and 45 % of the bad ones; in one world it dislikes the style of the new ones.
"""

from __future__ import annotations

import numpy as np
import pytest

from karat.core import Provenance, Scores
from karat.evaluation import Evaluation
from karat.gate import Policy, Rule, decide
from karat.stats import DropRule, Outcome, correct_difference

pytestmark = [pytest.mark.calibration, pytest.mark.slow]

N, LABELS, RUNS = 200, 60, 100
COLUMN = "PeopleLabel(name='faithfulness')"
POLICY = Policy(rules=(Rule(metric="Faithfulness", non_inferior=True),), drop=DropRule(resamples=999))
Floats = np.ndarray


def draw(rng: np.random.Generator, *, harsh: float = 0.0, worse: float = 0.0) -> tuple[Floats, Floats, Floats, Floats]:
    """Return labels and scores of the baseline and of the run; ``worse`` good answers that changed are lost."""
    before = rng.random(N) < 0.8
    changed = rng.random(N) < 0.3
    after = np.where(changed, rng.random(N) < 0.8 - worse, before)

    def judge(labels: Floats, less: float) -> Floats:
        return (rng.random(N) < np.where(labels, 0.95, 0.45) - less).astype(float)

    scores = judge(before, 0.0)
    return before.astype(float), after.astype(float), scores, np.where(changed, judge(after, harsh), scores)


def evaluate(scores: Floats, labels: Floats, labelled: int) -> Evaluation:
    queries = [f"q{i:03}" for i in range(N)]
    columns = {"Faithfulness": dict(zip(queries, scores.tolist(), strict=True))}
    if labelled:
        columns[COLUMN] = dict(zip(queries[:labelled], labels[:labelled].tolist(), strict=True))
    reasons = {(query, COLUMN): "no label" for query in queries[labelled:]}
    table = Scores.from_columns("run", columns, queries=queries, reasons=reasons)
    return Evaluation(provenance=Provenance(name="run"), scores=table, means=table.mean(), queries=table.queries)


def count_failures(seed: int, labelled: int, **world: float) -> float:
    """Return the share of runs that the gate fails."""
    rng = np.random.default_rng(seed)
    failed = 0
    for _ in range(RUNS):
        before, after, old, new = draw(rng, **world)
        decision = decide(evaluate(new, after, labelled), evaluate(old, before, labelled), POLICY)
        failed += decision.outcome is Outcome.FAIL
    return failed / RUNS


def test_labels_keep_the_level_whatever_the_judge_does() -> None:
    """Nothing got worse: with labels the gate fires in at most 5 %, though the judge alone would in half."""
    assert count_failures(1, 0) <= 0.05
    assert count_failures(2, LABELS) <= 0.05
    assert count_failures(3, 0, harsh=0.15) > 0.35
    assert count_failures(4, LABELS, harsh=0.15) <= 0.05


def test_labels_find_what_the_judge_does_not_see() -> None:
    """The new answers are worse, and the judge is as kind to them as it was harsh before."""
    hidden = {"worse": 0.8, "harsh": -0.3}
    assert count_failures(5, 0, **hidden) < 0.35
    assert count_failures(6, LABELS, **hidden) > 0.6


@pytest.mark.parametrize("labelled", [30, 100])
def test_corrected_differences_cover_what_is_true(labelled: int) -> None:
    """In at least 94 % of samples, also with few labels; no interval is wider than twice that of the labels alone."""
    rng = np.random.default_rng(labelled)
    covered, widths, alone = 0, [], []
    for _ in range(400):
        before, after, old, new = draw(rng, harsh=0.15)
        told = before[:labelled], after[:labelled]
        result = correct_difference(told, (old[:labelled], new[:labelled]), (old[labelled:], new[labelled:]))
        covered += result.low <= 0 <= result.high
        widths.append(result.high - result.low)
        change = told[1] - told[0]
        alone.append(4 * change.std(ddof=1) / np.sqrt(labelled))
    assert covered / 400 >= 0.94
    assert np.mean(widths) <= 2 * np.mean(alone)
