"""A mean of few queries: the golden set has nothing relevant for the others, and the number says nothing about them."""

from __future__ import annotations

from math import nan
from typing import Any

from gating import gate, run_of

from cli.gate_project import make_set
from each import each
from karat.evaluation import Evaluation
from karat.gate import POLICIES, Check, Decision, Rule, decide, find_caveats, read_policy
from karat.stats import Outcome

FLOOR = Rule(metric="RR", min=0.5)


def run_with(scored: int, size: int, **fields: Any) -> Evaluation:
    """A perfect run of which only the first queries have something relevant."""
    queries = [f"q{i}" for i in range(1, size + 1)]
    return run_of(
        {"RR": [1.0] * scored + [nan] * (size - scored)}, unjudged=frozenset(queries[scored:]), queries=tuple(queries),
        **fields,
    )  # fmt: skip


def found(decision: Decision) -> list[Check]:
    """The checks of the operational rule on what has a score."""
    return [check for check in decision.checks if check.kind == "unscored"]


@each("scored, outcome", [(1, "inconclusive"), (10, "inconclusive"), (11, "pass"), (20, "pass"), (21, "pass")])
def test_a_mean_of_less_than_half_does_not_pass(scored: int, outcome: str) -> None:
    """By hand: of 21 queries, half are ten and a half."""
    assert gate(run_with(scored, 21), None, FLOOR).outcome.value == outcome


def test_the_check_counts_the_queries() -> None:
    """It says of how many queries each mean is, and for which there is nothing relevant."""
    decision = gate(run_with(1, 21), None, FLOOR)
    (check,) = found(decision)
    assert check.reason == (
        "the mean of RR is of 1 of 21 answerable queries: for 20 (q2, q3 ...) the golden set has nothing relevant"
    )
    assert (check.current, check.limit, check.n) == (20, 10, 21)
    (floor,) = [check for check in decision.checks if check.metric == "RR"]
    assert (floor.outcome, floor.scored, floor.answerable) == (Outcome.PASS, 1, 21)


def test_the_warning_comes_first_and_says_what_helps() -> None:
    """It names the grade that counts, since mostly that is wrong."""
    first, *_ = find_caveats(gate(run_with(1, 21), None, FLOOR), make_set(21))
    assert first.startswith("WARNING: the mean of RR is of 1 of 21 answerable queries: ")
    assert "grades are relevant from 1 on" in first


def test_queries_without_an_answer_are_not_missing() -> None:
    """Most questions may have no answer: then the mean is of all that have one."""
    run = run_of({"RR": [1.0, nan, nan]}, unanswerable=frozenset({"q2", "q3"}))
    decision = gate(run, None, FLOOR)
    assert (found(decision), decision.outcome) == ([], Outcome.PASS)


def test_a_measure_that_has_all_values_is_not_concerned() -> None:
    """Grades below the start of relevance count in nDCG."""
    run = run_of({"nDCG": [1.0, 1.0, 0.9]}, unjudged=frozenset({"q2", "q3"}))
    assert found(gate(run, None, Rule(metric="nDCG", min=0.5))) == []


def test_a_segment_of_few_is_seen() -> None:
    """The whole set may have enough where one segment has not."""
    rule = Rule(metric="RR", where=("type", "a"), min=0.5)
    segments = {("type", "a"): ("q7", "q8", "q9"), ("type", "b"): tuple(f"q{i}" for i in range(1, 7))}
    (check,) = found(gate(run_with(7, 9), None, FLOOR, rule, segments=segments))
    assert "the mean of RR type=a is of 1 of 3" in check.reason


def test_a_one_in_the_place_of_nothing_is_not_a_score() -> None:
    """With undefined = "one" every such query would be perfect."""
    run = run_of({"RR": [1.0] * 4}, unjudged=frozenset({"q2", "q3", "q4"}), settings={"undefined": "one"})
    assert gate(run, None, FLOOR).outcome is Outcome.INCONCLUSIVE


@each("name", [name for name in POLICIES if name in ("beluga", "default", "rig", "threshold")])
def test_no_built_in_policy_passes_by_a_mean_of_few(name: str) -> None:
    """Neither floors nor comparisons with as poor a baseline see it."""
    run = run_of(
        {"RR@10": [1.0] + [nan] * 9}, unjudged=frozenset(f"q{i}" for i in range(2, 11)),
        lists={f"q{i}": ("d",) for i in range(1, 11)},
    )  # fmt: skip
    policy = read_policy(name, {}, measures=["RR@10"])
    assert decide(run, run, policy).outcome is Outcome.INCONCLUSIVE


def test_empty_lists_are_counted_where_there_is_something_to_find() -> None:
    """The rule on empty lists says of which queries it speaks, if these are not all that have an answer."""
    lists = {"q1": ("d",), "q2": (), "q3": ()}
    (check,) = [check for check in gate(run_with(1, 3, lists=lists), None, FLOOR).checks if check.kind == "empty"]
    assert check.reason == "0 of 1 queries that have something relevant returned nothing"


def test_half_a_query_is_not_excused() -> None:
    """One of two is half, and passes; one of three is not."""
    assert [gate(run_with(1, size), None, FLOOR).outcome.value for size in (1, 2, 3)] == [
        "pass", "pass", "inconclusive",
    ]  # fmt: skip
