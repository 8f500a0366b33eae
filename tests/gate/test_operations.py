"""The operational rules: whether a run worked at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from gating import run_of

from cli.gate_project import make_set
from each import each
from karat.core import Origin, UsageError
from karat.evaluation import Evaluation
from karat.gate import Policy, Rule, decide, find_caveats, read_policy
from karat.gate._operations import Operations

FLOOR = Policy(rules=(Rule(metric="RR", min=0.01),))


def answered(size: int, *, empty: int = 0, failed: int = 0, p95: float | None = None, **fields: Any) -> Evaluation:
    """A run in which the first queries returned nothing, and the last ones failed."""
    queries = [f"q{i}" for i in range(1, size + 1)]
    return run_of(
        {"RR": [1.0] * size},
        lists={query: () if i < empty or i >= size - failed else ("d",) for i, query in enumerate(queries)},
        failures=dict.fromkeys(queries[size - failed :], "HTTP 429"),
        latency={} if p95 is None else {"total": {"n": size, "mean": p95, "p50": p95, "p95": p95, "p99": p95}},
        **fields,
    )


def outcome(candidate: Evaluation, baseline: Evaluation | None = None, **limits: float | None) -> str:
    """The outcome by a policy that asks for nothing else."""
    return decide(candidate, baseline, replace(FLOOR, operations=Operations(**limits))).outcome.value


@each(
    ("size", "failed", "expected"),
    [(30, 0, "pass"), (30, 1, "pass"), (30, 2, "error"), (100, 2, "pass"), (100, 3, "error"), (1, 1, "error")],
)
def test_more_than_one_query_and_two_percent_failed(size: int, failed: int, expected: str) -> None:
    """By hand: max(1, 2 %) are 1 of 30 and 2 of 100; a set of one query has no failure to spare."""
    assert outcome(answered(size, failed=failed)) == expected


@each(
    ("empty", "had", "expected"), [(1, 30, "pass"), (2, 30, "fail"), (5, 30, "fail"), (5, 0, "pass"), (16, 0, "fail")]
)
def test_empty_lists_where_the_baseline_had_results(empty: int, had: int, expected: str) -> None:
    """What was always empty is no loss, until it is more than half of all."""
    assert outcome(answered(30, empty=empty), answered(30, empty=30 - had)) == expected


def test_empty_lists_without_a_baseline_to_tell() -> None:
    """Few are inconclusive, because they may always have been empty; most of them fail."""
    assert [outcome(answered(30, empty=empty)) for empty in (1, 2, 15, 16, 30)] == [
        "pass", "inconclusive", "inconclusive", "fail", "fail",
    ]  # fmt: skip
    old = replace(answered(30), lists={})
    assert outcome(answered(30, empty=2), old) == "inconclusive"


def test_an_unanswerable_query_may_return_nothing() -> None:
    """That is the right answer to it."""
    unanswerable = frozenset(f"q{i}" for i in range(1, 6))
    assert outcome(answered(30, empty=5, unanswerable=unanswerable), answered(30)) == "pass"


def test_a_failed_query_counts_as_empty() -> None:
    """One of each is two without results: failing is no way around the rule on empty lists."""
    assert outcome(answered(30, empty=1, failed=1), answered(30)) == "fail"


@each(
    ("now", "then", "expected"),
    [(49, 1, "pass"), (51, 16, "fail"), (51, 18, "pass"), (300, 100, "pass"), (301, 100, "fail")],
)
def test_latency_of_three_times_the_baseline_and_above_50_ms(now: float, then: float, expected: str) -> None:
    """Both have to be exceeded."""
    assert outcome(answered(30, p95=now), answered(30, p95=then)) == expected


def test_a_slower_run_is_a_warning_that_names_the_machines() -> None:
    """From 1.5 times on; without machines it says that none is recorded."""
    golden = make_set(30)
    decision = decide(answered(30, p95=160), answered(30, p95=100), FLOOR)
    (warning,) = [caveat for caveat in find_caveats(decision, golden) if "latency" in caveat]
    assert warning == (
        "latency: p95 is 160.0 ms, 1.6 times the baseline's 100.0 ms; machines differ in speed, and they may not be "
        "the same (neither is recorded)"
    )

    def on(cores: int, p95: float) -> Evaluation:
        run = answered(30, p95=p95)
        origin = Origin(machine={"cores": cores, "platform": "Linux x86_64"})
        return replace(run, provenance=replace(run.provenance, origin=origin))

    limit = (
        "p95 is 400.0 ms, 4.0 times the baseline's 100.0 ms; it may be 3 times as long, and 50 ms in any case "
        "(latency in [gate.operations])"
    )
    reasons = [[check.reason for check in decide(on(n, 400), on(2, 100), FLOOR).failures] for n in (2, 8)]
    assert reasons == [
        [f"{limit}; both ran on 2 cores, Linux x86_64"],
        [f"{limit}; machines differ: now 8 cores, Linux x86_64, then 2 cores, Linux x86_64"],
    ]


def test_no_ratio_of_a_fraction_of_a_millisecond() -> None:
    """0.3 ms instead of 0.1 ms is no three times as slow: clocks differ by as much."""
    decision = decide(answered(30, p95=0.3), answered(30, p95=0.1), FLOOR)
    assert [check.reason for check in decision.checks if check.kind == "slow"] == [
        "p95 is 0.3 ms, the baseline's 0.1 ms"
    ]


@each(
    ("failed", "empty", "limits", "expected"),
    [
        (4, 0, {"failed": 0.1}, "pass"),  # 10 % of 40 may fail, and they are not counted again as empty
        (5, 0, {"failed": 0.1}, "error"),
        (3, 1, {"failed": 0.1}, "pass"),
        (4, 1, {"failed": 0.1}, "fail"),  # together no more than the larger limit, which is four
        (4, 2, {"failed": 0.1}, "fail"),  # two empty lists are one too many, with or without failures
        (0, 2, {"failed": 0.1}, "fail"),
        (1, 1, {}, "fail"),  # by default to fail is no way out of the limit on empty lists
        (2, 0, {"failed": None}, "fail"),  # whoever does not count failures counts them as empty
        (2, 0, {"failed": None, "empty": None}, "pass"),
        (3, 1, {"failed": 0.1, "empty": 0.1}, "pass"),
        (4, 1, {"failed": 0.1, "empty": 0.1}, "fail"),
    ],
)
def test_a_failure_counts_as_empty_unless_more_may_fail(
    failed: int, empty: int, limits: dict[str, float | None], expected: str
) -> None:
    """Of 40 queries with results in the baseline; the limits are max(1, share of 40)."""
    assert outcome(answered(40, empty=empty, failed=failed), answered(40), **limits) == expected


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{}, {"failed": 0.05, "empty": 0.1}, {"failed": None}])
def test_to_fail_is_never_better_than_to_return_nothing(limits: dict[str, float | None]) -> None:
    """Unless the policy says that more may fail than return nothing, an error in place of an empty list never helps."""
    order = ["error", "fail", "inconclusive", "pass"]
    for unanswered in range(41):
        outcomes = [
            outcome(answered(40, empty=unanswered - failed, failed=failed), answered(40), **limits)
            for failed in range(unanswered + 1)
        ]
        ranks = [order.index(text) for text in outcomes]
        assert ranks == sorted(ranks, reverse=True)


def test_what_failed_is_not_said_to_have_returned_nothing() -> None:
    """The reason tells the two apart."""
    checks = decide(answered(40, empty=1, failed=1), answered(40), FLOOR).checks
    (reason,) = [check.reason for check in checks if check.kind == "empty"]
    assert (
        reason
        == "1 of 40 answerable queries returned nothing, and 1 failed; 2 of them had results in the baseline: q1, q40"
    )


def test_only_questions_without_a_list_in_the_baseline_are_called_new() -> None:
    """q1 and q2 were always empty; q3 and q4 are new, so that nothing is known of them."""
    old = answered(30, empty=2)
    lists = {query: ranking for query, ranking in old.lists.items() if query not in ("q3", "q4")}
    (check,) = [
        check
        for check in decide(answered(30, empty=4), replace(old, lists=lists), FLOOR).checks
        if check.kind == "empty"
    ]
    assert (check.outcome.value, check.reason) == (
        "inconclusive",
        "4 of 30 answerable queries returned nothing, and the baseline has no list of 2 of them to tell whether they "
        "ever did: q3, q4",
    )


def test_what_cannot_be_compared_is_said() -> None:
    """A baseline of an older format does not pass silently, nor does a rule that is switched off."""
    golden = make_set(30)
    policy = replace(FLOOR, operations=Operations(failed=None))
    caveats = find_caveats(decide(answered(30, p95=10), replace(answered(30), lists={}), policy), golden)
    assert "the operational rule 'failed' is switched off by [gate.operations]" in caveats
    assert "the baseline has no latency, so nobody checked whether the system became slower" in caveats
    assert any("the baseline has no ranked lists" in caveat for caveat in caveats)


def test_they_come_first_and_can_be_switched_off_by_name() -> None:
    """In this order, before the rules of the policy."""
    decision = decide(answered(30, p95=9), answered(30, p95=9), FLOOR)
    assert [check.kind for check in decision.checks] == ["failed", "empty", "slow", "min"]
    off = read_policy(
        None, {"operations": {"failed": False, "empty": 0.1, "latency": True}}, measures=["RR"]
    ).operations
    assert off == Operations(failed=None, empty=0.1, latency=3.0)
    assert off.off == ("failed",)


@each("limits", [{"failed": -0.1}, {"empty": 0.5}, {"latency": 1.0}, {"latency": float("inf")}])
def test_a_limit_that_allows_everything_is_a_mistake(limits: dict[str, float]) -> None:
    """To switch a rule off takes its name."""
    with pytest.raises(UsageError, match="false to switch it off"):
        Operations(**limits)
