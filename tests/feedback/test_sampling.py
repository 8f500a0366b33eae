"""A report and a harvest of more traffic than can be looked at: some sessions stand for all, and it is said."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from karat import online
from karat.feedback import harvest_log, report_log
from karat.online import READ_AFTER_SEARCH, ingest
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
    assert (whole.sample, some.sample) == (1.0, 32 / 256)
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
    whole, some = harvest_log(store, most=None), harvest_log(store, most=1000)
    assert some.report.asked == pytest.approx(whole.report.asked / 8, rel=0.3)
    assert "--whole" in some.report.notes[0]
