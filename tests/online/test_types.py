"""What a host says where a number or a list belongs: it is dropped and told at once, and never breaks the log."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

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
