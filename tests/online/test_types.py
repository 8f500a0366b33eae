"""What a host says where a number or a list belongs: it is dropped and told at once, and never breaks the log."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from in_process import run_karat
from karat import online
from karat.online import check_health, ingest, read_log
from karat.online._drafts import EventDraft, encode_draft
from karat.online._journal import Journal


@pytest.mark.parametrize(
    "fields",
    [
        {"value": "success"}, {"value": object()}, {"rank": "first"}, {"time": "yesterday"}, {"time": object()},
    ],
)  # fmt: skip
def test_an_event_that_nobody_can_read_is_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fields: dict[str, Any]
) -> None:
    """It is counted, and told once, without what somebody wrote; nothing is left for the ingester."""
    path = tmp_path / "karat.db"
    with caplog.at_level(logging.WARNING, "karat.online"), online.open(path) as log:
        for _ in range(3):
            log.feedback("task_outcome", session="s", **fields)
        log.feedback("task_outcome", session="s", value="0.5", rank="2")
        log.feedback("task_outcome", session="s", value=True, time=1_700_000_000)
        assert log.dropped == {"encode": 3}
    assert [str(next(iter(fields))) in record.getMessage() for record in caplog.records] == [True]
    assert "success" not in caplog.text
    done = ingest(path)
    assert (done.records, done.damaged) == (2, 0)
    with read_log(path) as reader:
        assert sorted((event.value, event.rank) for event in reader.events()) == [(0.5, 2), (1.0, None)]


def test_an_outcome_that_is_not_from_0_to_1_is_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is not cut to the range: that would turn 2 of 5 stars into success. Health says how many there were."""
    path = tmp_path / "karat.db"
    with caplog.at_level(logging.WARNING, "karat.online"), online.open(path) as log:
        for value in (2, -1, 1.0001, float("nan"), float("inf"), "nan", "7"):
            log.feedback("task_outcome", session="s", value=value)
        assert log.dropped == {"outcome": 7}
        for value in (0, 1, 0.25, True, "0.5", None):
            log.feedback("task_outcome", session="s", value=value)
        log.feedback("stars", session="s", value=7)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "records of the query log are dropped (outcome)"
    ]
    ingest(path)
    health = check_health(path)
    assert (health.healthy, health.dropped, health.odd_outcomes) == (False, {"outcome": 7}, 0)
    with read_log(path) as reader:
        assert [event.value for event in reader.events()] == [0, 1, 0.25, 1, 0.5, None, 7]
    text = run_karat("online", "health", str(path)).stdout
    assert b"dropped  7 have a task_outcome that is not from 0 to 1" in text


def test_an_outcome_of_an_old_or_imported_record_is_told(tmp_path: Path) -> None:
    """It is kept as it came, and health says that it counts nowhere."""
    path = tmp_path / "karat.db"
    online.open(path).close()
    journal = Journal(tmp_path / "karat.db.journal")
    for number, value in enumerate((7, 1.0, -0.5, None)):
        draft = EventDraft(f"{number:014x}-{'0' * 25}", 1.7e9, "task_outcome", session="s", value=value)
        journal.append(encode_draft(draft))
    journal.close()
    ingest(path)
    health = check_health(path)
    assert (health.healthy, health.odd_outcomes, health.events.rows) == (True, 2, 4)
    text = run_karat("online", "health", str(path)).stdout
    assert b"outcomes 2 task_outcomes have a value that is not from 0 to 1, and count in no report" in text


@pytest.mark.parametrize(
    ("hits", "fields"),
    [
        ({"weird": object()}, {}), ([{"id": "a", "score": "high"}], {}), (["a"], {"count": "many"}),
        (["a"], {"quality": "good"}), (["a"], {"time": "now"}), (["a"], {"latency": "fast"}),
        ([("a", "high")], {"intent": "new label"}),
    ],
)  # fmt: skip
def test_a_query_that_nobody_can_read_is_dropped(tmp_path: Path, hits: Any, fields: dict[str, Any]) -> None:
    """Whatever came back, the host goes on."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("wifi", hits, **fields)
        log.record("wifi", ["a", ("b", 0.5), ("c", 1)], count=7, latency=3, time=1_700_000_000)
        assert log.dropped == {"encode": 1}
    assert (ingest(path).records, check_health(path).damages) == (1, ())


def test_what_the_ingester_cannot_read_is_in_one_file(tmp_path: Path) -> None:
    """Of a segment, whatever the number of records and of looks; health has a line for each reason."""
    path = tmp_path / "karat.db"
    online.open(path).close()
    journal = Journal(tmp_path / "karat.db.journal")
    for number in range(300):
        kind = "success" if number % 2 else [number]
        journal.append(encode_draft(EventDraft(f"{number:014x}-{'0' * 25}", 1.7e9, "task_outcome", value=kind)))
        if number == 100:
            assert ingest(path).damaged == 101
    journal.close()
    assert ingest(path).damaged == 199
    (file,) = (tmp_path / "karat.db.journal" / "torn").iterdir()
    damages = check_health(path).damages
    assert {(damage.file, damage.parts, damage.reason) for damage in damages} == {
        (file.name, 150, "not a record: a str is no number"), (file.name, 150, "not a record: a list is no number"),
    }  # fmt: skip
    assert sum(damage.bytes for damage in damages) == file.stat().st_size
    file.unlink()
    assert check_health(path).damages == ()


def test_nobody_who_ingests_is_not_healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that waits for longer than cron needs says so, and the log is healthy again afterwards."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("wifi", ["a"])
    health = check_health(path)
    assert (health.healthy, health.journal.late) == (True, False)
    now = time.time()
    with monkeypatch.context() as patch:
        patch.setattr("karat.online._health.time.time", lambda: now + 1000)
        health = check_health(path)
        assert (health.healthy, health.journal.late, health.journal.waiting) == (False, True, 1)
    ingest(path)
    assert check_health(path).healthy
