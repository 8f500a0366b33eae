"""A report and a harvest of more traffic than can be looked at: some sessions stand for all, and it is said."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from karat import online
from karat.feedback import harvest_log, report_log
from karat.online import READ_AFTER_SEARCH, ingest
from karat.reports import describe_traffic, list_traffic_facts, render_online_html
from karat.schema.feedback import OnlineReport

SESSIONS = 1500


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two days of traffic: a tenth finds nothing, a fifth is asked again, most is read."""
    path = tmp_path_factory.mktemp("traffic") / "karat.db"
    rng = random.Random(3)
    log = online.open(path, key="the same sessions in every run")
    for number in range(SESSIONS):
        moment = number * 115.0
        for turn in range(rng.choice([1, 2, 3])):
            hits = [] if rng.random() < 0.1 else ["a", "b"]
            text = f"question {rng.randrange(40)} about {rng.choice(['pool', 'wifi', 'bar'])}"
            query = log.record(
                text, hits, session=f"s{number}", intent=rng.choice(["find", "fix"]), time=moment + turn * 30,
                latency=rng.random() * 100,
            )  # fmt: skip
            if hits and rng.random() < 0.6:
                log.feedback(READ_AFTER_SEARCH, f"s{number}", "a", query=query, rank=1, time=moment + turn * 30 + 5)
    log.close()
    ingest(path)
    return path


@pytest.mark.slow
def test_a_report_on_some_sessions(store: Path) -> None:
    """What is counted for all queries is the same; the truth is in the intervals of the rest."""
    whole, some = report_log(store, most=None), report_log(store, most=1000)
    assert report_log(store) == whole, "there is little traffic"
    share = 1000 / whole.queries
    assert (whole.sample, some.sample) == (1.0, pytest.approx(share, abs=1 / 256))
    assert (some.first, some.last, some.queries, some.estimated, some.latency) == (
        whole.first, whole.last, whole.queries, whole.estimated, whole.latency,
    )  # fmt: skip
    assert [(day.day, day.queries) for day in some.days] == [(day.day, day.queries) for day in whole.days]
    assert [(i.intent, i.queries) for i in some.intents] == [(i.intent, i.queries) for i in whole.intents]
    for own, true in zip(some.rates, whole.rates, strict=True):
        if true.share is not None:
            assert own.low <= true.share <= own.high, own.name
    for name in ("nothing found", "error"):
        exact = [(rate.count, rate.total) for report in (some, whole) for rate in report.rates if rate.name == name]
        assert exact[0] == exact[1]
    assert some.sessions == pytest.approx(whole.sessions, rel=0.2)
    assert some.events == pytest.approx(whole.events, rel=0.2)
    assert "--whole" in some.notes[0]
    assert msgspec.convert(msgspec.to_builtins(some), OnlineReport) == some


@pytest.mark.slow
def test_a_harvest_of_some_sessions(store: Path) -> None:
    """It says so, and looks at no more than it should."""
    some = harvest_log(store, most=1000)
    assert some.report.asked == pytest.approx(1000, rel=0.2)
    assert "--whole" in some.report.notes[0]


def test_a_sample_is_as_large_as_it_may_be(tmp_path: Path) -> None:
    """Estimates are near the truth, say that they are estimates, and what is odd about all records is counted."""
    path = tmp_path / "karat.db"
    with online.open(path, key="the same sessions in every run") as log:
        for number in range(400):
            log.record(f"question {number % 4}", [] if number % 4 == 0 else ["a"], session=f"s{number}")
            if number % 2:
                log.feedback("task_outcome", f"s{number}", value=1)
        log.record("wifi", ["a"], session="late", latency=-50.0)
        log.record("wifi", ["a"], session="soon", latency=5.0)
        for _ in range(7):
            log.feedback(READ_AFTER_SEARCH, document="a")
    ingest(path)
    some, whole = report_log(path, most=300), report_log(path, most=None)
    assert some.sample == pytest.approx(300 / 402, abs=1 / 256)
    assert some.tasks == pytest.approx(200, rel=0.1)
    assert (some.worst[0].text, some.worst[0].sessions) == ("question 0", pytest.approx(100, rel=0.15))
    assert (some.latency, whole.latency and whole.latency.n) == (whole.latency, 1)
    odd = {"without_session": 7, "negative_latencies": 1}
    assert ({name: some.oddities[name] for name in odd}, whole.oddities) == (odd, odd)
    text = " ".join([describe_traffic(some), *(fact for _, fact in list_traffic_facts(some))])
    assert f"in about {some.sessions:,} sessions" in text
    assert f"mean outcome of about {some.tasks:,} sessions" in text
    assert "without session 7" in text
    assert ", estimated from 74.6 % of all sessions" in render_online_html(some)
    assert "about" not in " ".join([describe_traffic(whole), *(fact for _, fact in list_traffic_facts(whole))])
