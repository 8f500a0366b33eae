"""Limits on the time of single stages, as agent's micro-benchmarks have them."""

from __future__ import annotations

import pytest

from karat.config import Settings
from karat.core import GoldenSet, Judgment, Query, Stage, Target
from karat.evaluation import score_run
from karat.gate import Policy, Rule, decide
from karat.runs import make_run
from karat.systems import Retrieved, adapt

LIMITS = {"session-boost": 10, "causal-traversal": 20, "extraction": 5}
RULES = tuple(Rule(metric=f"latency.{stage}.p95", max=limit) for stage, limit in LIMITS.items())
GOLDEN = GoldenSet(
    queries=tuple(Query(id=f"q{number}", text="?") for number in range(40)),
    judgments=tuple(Judgment(query=f"q{number}", target=Target(document="a"), grade=3) for number in range(40)),
)


def ask(**milliseconds: float) -> dict[str, str]:
    """Ask all questions at once of a system that reports how long its stages took; return the outcomes."""
    stages = [Stage(name=name.replace("_", "-"), milliseconds=taken) for name, taken in milliseconds.items()]
    system = adapt(lambda query, k: Retrieved(["a"], {}, stages=stages))
    run = make_run(GOLDEN, system, Settings(k=1, warm_up=0, concurrency=1000))
    decision = decide(score_run(GOLDEN, run, ["RR@10"]), None, Policy(rules=RULES))
    return {check.metric: check.outcome.value for check in decision.checks if check.metric.startswith("latency.")}


@pytest.mark.parametrize(
    ("traversal", "outcome"),
    [(19.9, "pass"), (20.1, "fail")],
)
def test_a_stage_has_a_limit_of_its_own(traversal: float, outcome: str) -> None:
    """The 95th percentile of each stage is held against its own limit."""
    outcomes = ask(session_boost=9.0, causal_traversal=traversal, extraction=4.0)
    assert outcomes == {
        "latency.session-boost.p95": "pass",
        "latency.causal-traversal.p95": outcome,
        "latency.extraction.p95": "pass",
    }


def test_a_stage_that_was_not_recorded_does_not_pass() -> None:
    """What was not measured is not fast."""
    outcomes = ask(session_boost=9.0, causal_traversal=1.0)
    assert outcomes["latency.extraction.p95"] in ("error", "fail", "inconclusive")
