"""A comparison counts what a run refuses as the gate does, and says what it would be without that."""

from __future__ import annotations

import random

from each import each
from gate.test_refused_answers import EMPTY, OFF, REFUSED, RIGHT, WRONG, evaluate, make_set
from karat.cli._compare_text import comparison_text
from karat.gate import Policy, Rule, compare_document, decide
from karat.schema import AnsweredChange, AnsweredMean

MEASURE = "CiteAccuracy"


def test_a_run_that_refuses_what_it_gets_wrong_is_not_better() -> None:
    """By hand: A has 1, 1, 0, 0; B refuses the last three of them. What both answered looks perfect, and is 1 of 4."""
    a = evaluate((RIGHT, RIGHT, WRONG, WRONG), [MEASURE])
    b = evaluate((RIGHT, REFUSED, REFUSED, REFUSED), [MEASURE])
    document = compare_document([a, b], make_set(4))
    (test,) = document.pairs[0].measures
    assert (test.n, test.baseline, test.candidate, test.difference) == (4, 0.5, 0.25, -0.25)
    assert (test.wins, test.ties, test.losses) == (0, 3, 1)
    assert test.answered == AnsweredChange(n=1, baseline=1.0, candidate=1.0, difference=0.0)
    assert [run.means for run in document.runs] == [{MEASURE: 0.5}, {MEASURE: 0.25}]
    assert [run.answered for run in document.runs] == [{}, {MEASURE: AnsweredMean(mean=1.0, answers=1, unanswered=3)}]
    assert [(mover.query, mover.gain) for mover in document.pairs[0].movers] == [("q1", -1.0)]
    text = comparison_text(document)
    lines = [line.split() for line in text.splitlines()]
    assert [MEASURE, "1.0000", "1.0000", "+0.0000", "1"] in lines
    assert "B: CiteAccuracy is over 1 of 4 answers, without 3 refused; with these as worst" in text
    matrix = comparison_text(compare_document([a, b, a], make_set(4)))
    assert [MEASURE, "mean", "-", "A", "-", "B", "-", "C"] in [line.split() for line in matrix.splitlines()]
    assert ["B", "0.2500"] in [line.split()[:2] for line in matrix.splitlines()]


def test_without_refusals_nothing_is_added() -> None:
    """Both numbers would be the same."""
    runs = [evaluate(kinds, [MEASURE]) for kinds in ((RIGHT, WRONG), (RIGHT, RIGHT))]
    document = compare_document(runs, make_set(2))
    assert "answered" not in comparison_text(document)
    assert document.pairs[0].measures[0].difference == 0.5


@each("seed", range(8))
def test_a_comparison_is_never_better_than_the_gate(seed: int) -> None:
    """Whatever both runs answer: the means and the change are those of the rule, and the levels those of a floor."""
    rng = random.Random(seed)
    before, now = (evaluate(rng.choices((RIGHT, WRONG, REFUSED, EMPTY), k=6), [MEASURE]) for _ in range(2))
    document = compare_document([before, now], make_set(6))
    (test,) = document.pairs[0].measures
    policy = Policy(name="own", rules=(Rule(metric=MEASURE, min=0.5, max_drop_abs=0.1),), operations=OFF)
    checks = {check.kind: check for check in decide(now, before, policy).checks if check.metric == MEASURE}
    change = checks["max_drop_abs"]
    # Where the baseline answers nothing, there is nothing to compare.
    assert (test.baseline, test.candidate) == (change.baseline, change.current if test.n else None)
    assert document.runs[1].means[MEASURE] == checks["min"].current
