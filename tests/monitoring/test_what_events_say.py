"""What events say of queries: the same in reports, exported folders, alerts, canaries and trials, on the same logs."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from karat import online
from karat.config import ALERTS, CanaryConfig, OnlineConfig
from karat.feedback import read_sessions, report_log
from karat.feedback.trials import collect_trial
from karat.monitoring import decide_canary
from karat.online import LoggedEvent, LoggedHit, LoggedQuery
from karat.online.flags import change_flag
from karat.online.trials import TrialPlan, start_trial
from karat.schema.feedback import OnlineReport
from karat.schema.watch import CanaryReport
from karat.store import open_store
from monitoring.logs import DAY, find, look, write

SESSIONS = 60
ARMS = ("control", "treatment")
TEXTS = ("wifi password", "password of the wifi", "pool hours", "sauna", "bar menu", "parking")
CONFIG = OnlineConfig(
    samples=20,
    minutes=60,
    least=5,
    alerts={name: replace(limit, on=name == "asked_again") for name, limit in ALERTS.items()},
    canary=CanaryConfig(recall_drop=None),
)
PLAN = TrialPlan(
    feature="rerank", source="sessions", measure="Success", guardrails=("AskedOnce",), must_show="", idle=1800.0
)


def make_session(draw: random.Random, number: int) -> tuple[list[LoggedQuery], list[LoggedEvent]]:
    """Return a session of up to three queries, after each of which events may say in any way that it is asked again."""
    name, start = f"s{number}", DAY + 10.0 * number
    queries, events = list[LoggedQuery](), list[LoggedEvent]()
    for place in range(draw.randint(1, 3)):
        hits = tuple(LoggedHit(document, rank) for rank, document in enumerate(draw.sample("abc", 2), 1))
        time = start + 100.0 * place
        query = LoggedQuery(
            f"{name}-{place}", time, draw.choice(TEXTS), session=name, hits=hits, count=2, latency=10.0,
            flags={"rerank": ARMS[number % 2]},
        )  # fmt: skip
        queries.append(query)
        for again in range(draw.choice((0, 0, 1, 2))):
            session, named = draw.choice(((name, ""), (name, query.id), ("", query.id), (name, "nobody knows")))
            document = draw.choice(("", "", "a", "d"))
            time = query.time + draw.choice((0.0, 5.0, 250.0))
            kind = draw.choice(("re_search", "re_search", "read_after_search", "impression", "scroll_past"))
            events.append(LoggedEvent(f"{query.id}-e{again}", time, kind, session, "", named, document))
    return queries, events


def put(path: Path, monkeypatch: pytest.MonkeyPatch, queries: list[LoggedQuery], events: list[LoggedEvent]) -> None:
    """Write a log with a flag at half of all sessions, and a trial of it."""
    with monkeypatch.context() as patch:
        patch.setattr("karat.online.flags._changes.time.time", lambda: DAY - 1)
        change_flag(path, "rerank", {"percent": 50}, author="ada", reason="test")
    start_trial(path, PLAN, now=DAY - 1)
    write(path, queries, events)


def canary(path: Path) -> CanaryReport:
    return decide_canary(path, "rerank", config=CONFIG, now=DAY + 3661)


def count_again(report: OnlineReport) -> int:
    return next(rate.count for rate in report.rates if rate.name == "asked again")


@pytest.mark.parametrize("seed", range(6))
def test_all_that_look_at_a_log_see_the_same(path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Whichever way events say that a query is asked again, each query that they mean counts once."""
    draw = random.Random(seed)
    made = [make_session(draw, number) for number in range(SESSIONS)]
    queries = [query for own, _ in made for query in own]
    put(path, monkeypatch, queries, [event for _, own in made for event in own])
    with open_store(path) as store:
        searches = [own for session in read_sessions(online.LogReader(store)) for own in session.queries]
    again = {own.query.id for own in searches if own.repeated}
    assert len(again) > sum(bool(own.repeats) for own in searches) > 0, "events say what words do not"

    report = report_log(path)
    online.export_log(path, path.parent / "out", format="parquet")
    assert structs.replace(report_log(path.parent / "out"), store=report.store) == report
    assert count_again(report) == len(again)

    assert find(look(path, 13, CONFIG), "asked_again").value == pytest.approx(len(again) / len(queries))

    mine = [query.id for query in queries if query.flags["rerank"] == "treatment"]
    (window,) = canary(path).windows
    (rule,) = [rule for rule in window.rules if rule.name == "asked_again"]
    assert rule.canary == pytest.approx(len(again.intersection(mine)) / len(mine))

    collect_trial(path, "rerank", now=DAY + 2 * 3600)
    with open_store(path) as store:
        differences = store.trials.values(1)["difference:AskedOnce"]
    shares = [sum(query.id not in again for query in own) / len(own) for own, _ in made]
    wanted = sum(share if number % 2 else -share for number, share in enumerate(shares))
    assert sum(value * count for value, count in differences.items()) == pytest.approx(wanted)


@pytest.mark.parametrize("fields", [{}, {"query": "q"}, {"query": "nobody knows"}, {"document": "elsewhere"}])
def test_a_feature_that_makes_everybody_ask_again_is_seen(
    path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, str]
) -> None:
    """By the alert of its canary, and by the guardrail of its trial, however the event is logged."""
    queries, events = list[LoggedQuery](), list[LoggedEvent]()
    for number in range(2 * SESSIONS):
        name, arm = f"s{number}", ARMS[number % 2]
        hits = (LoggedHit("a", 1),)
        query = LoggedQuery(f"q{number}", DAY + 10 * number, f"question {number}", name, hits=hits, count=1,
                            flags={"rerank": arm})  # fmt: skip
        queries.append(query)
        if arm == "treatment":
            own = {key: query.id if value == "q" else value for key, value in fields.items()}
            events.append(LoggedEvent(f"e{number}", query.time + 3, "re_search", name, **own))
    put(path, monkeypatch, queries, events)
    (window,) = canary(path).windows
    assert [(rule.name, rule.canary, rule.state) for rule in window.rules] == [("asked_again", 1.0, "firing")]
    collect_trial(path, "rerank", now=DAY + 2 * 3600)
    with open_store(path) as store:
        assert store.trials.values(1)["difference:AskedOnce"] == {-1.0: SESSIONS}
