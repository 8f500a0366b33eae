"""Trials of lists, from the log: interleaved, shadowed, and planned by a replay of both."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from feedback.trial_records import GOLDEN, IDLE, START, Record, ask, count, end, put
from karat import online
from karat.core import InputError, UsageError
from karat.feedback.trials import collect_trial, plan_from_log
from karat.online import LoggedEvent
from karat.online._shadow_records import LoggedShadow
from karat.online.interleaving import interleave, log_interleaved
from karat.online.trials import (
    TrialPlan,
    look_at_trial,
    start_trial,
)
from karat.schema.trials import TrialForecast
from karat.stats.sequential import StoppingRule, Tally, plan_sessions


def test_interleaved_lists_from_the_log(tmp_path: Path) -> None:
    """Through a real log: choices by session, both rankings by judgments, latencies of each system."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", source="interleaving", guardrails=("RR@10",), measure="choices", idle=IDLE)
    start_trial(path, plan, now=START)
    rankings = {"control": ["b", "c", "a"], "treatment": ["a", "b", "c"]}
    with online.open(path) as log:
        for number in range(20):
            shown = interleave(rankings, session=f"s{number}", query="wifi")
            with log.session(f"s{number}"):
                query = log.query("wifi")
                log_interleaved(query, "rerank", shown, rankings, {"control": 10.0, "treatment": 12.0})
                query.finish(time=START + number, latency=14.0)
                log.feedback("read_after_search", document="a", query=query.id, time=START + number + 1)
    collect_trial(path, "rerank", golden=GOLDEN, now=START + 3 * IDLE)
    seen = count(path)
    wins = [interleave(rankings, session=f"s{number}", query="wifi").credit(["a"]) for number in range(20)]
    assert seen["difference:choices"] == {1.0: sum(own["treatment"] for own in wins)}
    assert seen["difference:RR@10"] == {0.666666667: 20}
    assert seen["difference:MustShowAll@10"] == {0.0: 20}
    assert seen["latency:treatment"] == {12.0: 20}
    assert {own.name: own.met for own in look_at_trial(path, "rerank").conditions}["judged"]


def test_a_document_that_was_called_useless_earns_nothing(tmp_path: Path) -> None:
    """Junk that is clicked and then refused is no choice; teams that do not fit the list are left out."""
    path = tmp_path / "karat.db"
    start_trial(path, TrialPlan(feature="rerank", source="interleaving", measure="choices", must_show="", idle=IDLE),
                now=START)  # fmt: skip
    fits = {"teams": {"rerank": ["treatment", "control", None]}}
    put(
        path,
        ask("s1", 1, START, attributes=fits),
        LoggedEvent("e1", START + 1, "read_after_search", session="s1", query="s1-1", document="a"),
        LoggedEvent("e2", START + 2, "validate_not_useful", session="s1", query="s1-1", document="a"),
        LoggedEvent("e3", START + 3, "read_after_search", session="s1", query="s1-1", document="b"),
        ask("s2", 1, START, attributes={"teams": {"rerank": ["treatment"]}}),
        ask("s3", 1, START, attributes={"teams": {"rerank": ["typo", "control", None]}}),
    )
    collect_trial(path, "rerank", now=START + 3 * IDLE)
    assert count(path)["difference:choices"] == {-1.0: 1}
    status = look_at_trial(path, "rerank")
    assert status.logs[0].unreadable == 2
    (condition,) = [own for own in status.conditions if own.name == "log"]
    assert (condition.met, condition.detail) == (
        False, "0 of 1 sessions went on after they were measured; 2 more could not be read"
    )  # fmt: skip


@pytest.mark.slow
def test_a_longer_list_earns_nothing_by_its_length(tmp_path: Path) -> None:
    """Who reads any document, whatever it is, prefers neither system, though the treatment shows twice as many."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", source="interleaving", measure="choices", must_show="", idle=IDLE)
    start_trial(path, plan, now=START)
    rng, records = random.Random(1), list[Record]()
    lists = {"disjoint": list("pqrstuvwxy"), "the same and more": list("bcaed") + list("vwxyz"), "same": list("ecadb")}
    for text, new in lists.items():
        rankings = {"control": list("abcde"), "treatment": new}
        for number in range(400):
            name = f"{text}{number}"
            shown = interleave(rankings, session=name, query=text)
            noted: dict[str, Any] = {"attributes": {"teams": {"rerank": list(shown.teams)}}}
            channels = {system: tuple(own) for system, own in rankings.items()}
            records += (
                ask(name, 1, START + 1, text=text, hits=shown.documents, channels=channels, **noted),
                LoggedEvent(
                    f"{name}-r", START + 2, "read_after_search", session=name, document=rng.choice(shown.documents)
                ),
            )
    put(path, *records)
    collect_trial(path, "rerank", now=START + 2 * IDLE)
    values = count(path)["difference:choices"]
    mean = sum(value * number for value, number in values.items()) / 1200
    assert abs(mean) < 3 / 1200**0.5


def test_a_treatment_that_finds_nothing_loses_what_people_choose(tmp_path: Path) -> None:
    """A list of the control alone still counts for it; one of the treatment alone counts for nobody."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", source="interleaving", measure="choices", must_show="", idle=IDLE)
    start_trial(path, plan, now=START)
    for number, (team, other) in enumerate((("control", "treatment"), ("treatment", "control"))):
        noted: dict[str, Any] = {"attributes": {"teams": {"rerank": [team] * 3}}}
        put(
            path,
            ask(f"s{number}", 1, START + 1, channels={team: ("a", "b", "c"), other: ()}, **noted),
            LoggedEvent(f"r{number}", START + 2, "read_after_search", session=f"s{number}", document="b"),
        )
    collect_trial(path, "rerank", now=START + 2 * IDLE)
    assert count(path)["difference:choices"] == {-1.0: 1, 0.0: 1}


def test_shadow_runs_from_the_log(tmp_path: Path) -> None:
    """Both lists by judgments, one difference a session; a treatment that failed has returned nothing."""
    path = tmp_path / "karat.db"
    plan = TrialPlan(feature="rerank", measure="RR@10", idle=IDLE)
    start_trial(path, plan, now=START)

    def run(number: int, session: str, **fields: Any) -> LoggedShadow:
        fields = {"control": ("b", "a"), "treatment": ("a", "x"), "text": "wifi", **fields}
        latencies = {"control_latency": 10.0, "treatment_latency": 11.0}
        return LoggedShadow(f"r{number}", START + number, "rerank", session=session, **latencies, **fields)

    put(
        path,
        run(1, "s1"), run(2, "s1", treatment=(), status="timeout"),
        run(3, "s2"), run(4, "s2", status="queue full"), run(5, "s3", text="not judged"),
        run(6, "s4", treatment=(), status="breaker open"),
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"RR@10 is measured by judgments: name the golden set"):
        collect_trial(path, "rerank", now=START + 3 * IDLE)
    collect_trial(path, "rerank", golden=GOLDEN, now=START + 3 * IDLE)
    seen = count(path)
    assert seen["difference:RR@10"] == {0.0: 1, 0.5: 1, -0.5: 1}  # s1: (1 - 1/2 + 0 - 1/2) / 2
    assert seen["difference:unjudged"] == {0.25: 1, 0.5: 1, 0.0: 1}
    assert seen["units:control"] == seen["units:treatment"]
    assert seen["latency:treatment"] == {11.0: 4}  # not of the call that failed, which may take no time


def forecast(path: Path, **fields: Any) -> TrialForecast:
    plan = TrialPlan(**{"feature": "rerank", "must_show": "", "idle": IDLE, **fields})
    return plan_from_log(path, plan, golden=GOLDEN, most=2000)


@pytest.mark.slow
def test_a_plan_by_replay_of_earlier_sessions(tmp_path: Path) -> None:
    """Half of them succeeded: a pair of sessions differs by 1 half of the time, as the true distribution says."""
    path = tmp_path / "karat.db"
    with pytest.raises(InputError, match="no such store"):
        forecast(path, source="sessions", measure="Success")
    put(path, *(own for n in range(1000) for own in (ask(f"s{n}", 1, START + n), end(f"s{n}", START + n, n % 2))))
    plan = forecast(path, source="sessions", measure="Success", rule=StoppingRule(effect=0.2))
    assert plan.sessions > 400
    assert plan.replayed == pytest.approx(0, abs=4 * plan.sd / plan.sessions**0.5), "both variants are the same system"
    rng = np.random.default_rng(1)
    known = plan_sessions(Tally.from_counts({-1: 250, 0: 500, 1: 250}), 0.2, rng=rng, most=2000)
    assert known.most_of_them is not None
    assert plan.most_of_them == pytest.approx(known.most_of_them, rel=0.25)
    later = forecast(path, source="sessions", measure="Success", rule=StoppingRule(effect=0.1)).most_of_them
    assert later is None or later > 2 * known.most_of_them
    uneven = forecast(path, source="sessions", measure="Success", shares={"control": 4, "treatment": 1})
    assert (plan.block, uneven.block) == (2, 5)
    assert uneven.sessions < 0.5 * plan.sessions
    assert uneven.sd == pytest.approx((0.25 + 0.25 / 4) ** 0.5, rel=0.1), "of one session and the mean of four"


@pytest.mark.slow
def test_a_plan_by_replay_of_both_systems(tmp_path: Path) -> None:
    """By judgments, and by what people read after the same query: a better list is ahead in the replay, too."""
    path = tmp_path / "karat.db"
    lists = {"control": ("b", "c", "a"), "treatment": ("a", "b", "c")}
    put(path, *(LoggedShadow(f"r{n}", START + n, "rerank", "wifi", session=f"s{n}", **lists) for n in range(40)))
    judged = forecast(path, measure="RR@10")
    assert (judged.sessions, judged.replayed, judged.source) == (40, 0.666666667, "judgments")
    with pytest.raises(UsageError, match="never graduates"):
        forecast(path, source="clicks")
    for number in range(60):  # a is read twice as often as b
        read = ("a", "a", "b")[number % 3]
        event = LoggedEvent(f"e{number}", START, "read_after_search", session=f"p{number}", document=read)
        put(path, ask(f"p{number}", 1, START, attributes={}), event)
    chosen = forecast(path, source="interleaving", measure="choices")
    assert chosen.sessions == 40
    assert chosen.replayed is not None
    assert chosen.replayed > 0.1
    with pytest.raises(InputError, match="no sessions that tell anything about choices"):
        forecast(path, feature="other", source="interleaving", measure="choices")
