"""What a host says where a number or a list belongs: it is dropped and told at once, and never breaks the log."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import numpy as np
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
        assert log.dropped == {next(iter(fields)): 3}
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
    ("field", "value"),
    [
        ("count", "many"), ("quality", "good"), ("time", "now"), ("latency", "fast"), ("flags", "treatment"),
    ],
)  # fmt: skip
def test_a_query_that_nobody_can_read_is_dropped(tmp_path: Path, field: str, value: Any) -> None:
    """Whatever was passed, the host goes on; health names each field that was wrong."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("wifi", ["a"], **{field: value})
        log.record("wifi", ["a", ("b", 0.5), ("c", 1)], count=7, latency=3, time=1_700_000_000)
        assert log.dropped == {field: 1}
    assert (ingest(path).records, check_health(path).damages) == (1, ())
    text = run_karat("online", "health", str(path)).stdout.decode()
    assert f"dropped  1 have a wrong {field}" in text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", "high"), ("rank", "first"), ("time", "now"), ("document", object()), ("query", object()),
        ("event", None), ("event", ""), ("event", 5), ("event", object()),
    ],
)  # fmt: skip
def test_feedback_that_nobody_can_read_is_dropped(tmp_path: Path, field: str, value: Any) -> None:
    """Health names the field that was wrong, as it does for a query."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.feedback(**{"event": "read_after_search", "session": "s", field: value})
        assert log.dropped == {field: 1}
    assert (ingest(path).records, check_health(path).damages) == (0, ())
    text = run_karat("online", "health", str(path)).stdout.decode()
    assert f"dropped  1 have a wrong {field}: docs/online.md" in text


class Deed(Enum):
    """Words for what people do; as ``str, Enum`` its members are texts."""

    READ = "read_after_search"


class TextDeed(str, Enum):  # noqa: UP042 (hosts write it)
    """The same as texts."""

    READ = "read_after_search"


def test_the_member_of_an_enum_is_its_text_or_no_word(tmp_path: Path) -> None:
    """It is never its name, under which no report would find what people did."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.feedback(TextDeed.READ, session="s", document="a")
        log.feedback(np.str_("read_after_search"), session="s", document="a")
        log.feedback(cast("str", Deed.READ), session="s", document="a")
        assert log.dropped == {"event": 1}
    ingest(path)
    with read_log(path) as reader:
        assert [event.kind for event in reader.events()] == ["read_after_search"] * 2


class _Silent:
    """An object that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize("field", ["intent", "mode", "tool", "system", "build", "trace", "session", "user", "own"])
def test_an_object_without_a_text_harms_nobody(tmp_path: Path, field: str) -> None:
    """Logging never raises, in either way to log a query; the record is dropped and counted."""
    with online.open(tmp_path / "karat.db") as log:
        log.record("wifi", ["a"], **{field: _Silent()})
        with log.query("wifi", **{field: _Silent()}) as query:
            query.results(["a"])
        assert log.dropped == {"encode": 2}


@pytest.mark.parametrize("value", [Decimal("1.5"), Fraction(3, 2), np.float32(1.5), True, "1.5"])
def test_a_number_of_any_kind_is_a_number(tmp_path: Path, value: Any) -> None:
    """In every field that has one; nothing is left for the ingester that it could not read."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("wifi", [("a", value)], latency=value, quality=value, stages={"dense": value}, time=value)
        log.record("wifi", {"a": value}, weights={"dense": value})
        log.record("wifi", [{"id": "a", "score": value}])
        log.feedback("read", session="s", value=value)
        if not isinstance(value, str):
            log.record("wifi", ["a"], count=value)
            log.feedback("read", session="s", rank=value)
        assert log.dropped == {}
    done = ingest(path)
    assert (done.records, done.damaged) == (4 if isinstance(value, str) else 6, 0)
    with read_log(path) as reader:
        first = next(reader.queries())
        events = list(reader.events())
    number = None if value is True else 1.5
    assert (first.latency, first.quality, first.hits[0].score) == (number, number, number)
    assert first.stages == ({} if number is None else {"dense": 1.5})
    assert (events[0].value, events[-1].rank) == (1.0 if value is True else 1.5, None if isinstance(value, str) else 1)


@pytest.mark.parametrize("numbers", [{"dense": {"ms": 3}}, {"dense": "3 ms"}, {"dense": [1, 2]}, {"dense": object()}])
def test_a_query_is_stored_without_numbers_that_are_none(tmp_path: Path, numbers: dict[str, Any]) -> None:
    """The host does not look into a mapping while somebody waits; the ingester leaves it out, and health counts it."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        for _ in range(3):
            log.record("wifi", ["a"], stages=numbers, weights={"dense": 0.5})
    done = ingest(path)
    assert (done.records, done.damaged, ingest(path).records) == (3, 0, 0)
    with read_log(path) as reader:
        assert {(query.documents, tuple(query.stages), query.weights["dense"]) for query in reader.queries()} == {
            (("a",), (), 0.5)
        }
    health = check_health(path)
    assert (health.healthy, health.damages, health.left_out) == (False, (), {"stages": 3})
    online.acknowledge_drops(path, author="ann", reason="seen")
    assert check_health(path).healthy
    with online.open(path) as log:
        log.record("wifi", ["a"], weights=numbers, stages={"dense": 1.0})
    ingest(path)
    health = check_health(path)
    assert (health.healthy, health.left_out) == (False, {"stages": 3, "weights": 1})


@dataclass
class Document:
    """What a search library returns: its text is anybody's."""

    page_content: str
    id: str = "flea"


_OBJECT = Document("Owner ann@vet.at, phone +43 664 1234567")


@pytest.mark.parametrize(
    "hits",
    [
        [_OBJECT], [(_OBJECT, 0.5)], ["flea", _OBJECT], {_OBJECT.page_content: _OBJECT}, [("flea", _OBJECT)],
        [("flea", _OBJECT.page_content)], [("flea", 0.5, _OBJECT.page_content)], [{"id": _OBJECT}],
        [{"doc": "flea", "score": 1.0}], [object()], [None, "flea"], [True], [0.5], [b"flea"], [["flea"], "tick"],
        [{"id": "a", "score": "high"}], "flea", [{"id": "a", "section": _OBJECT}],
    ],
)  # fmt: skip
@pytest.mark.parametrize("fields", [{}, {"intent": "a new label", "redact": False}])
def test_what_is_no_id_is_not_recorded_as_one(tmp_path: Path, hits: Any, fields: dict[str, Any]) -> None:
    """Nothing of it is written anywhere. The query is, without hits, and health counts it until it is acknowledged."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("flea", hits, session="s", **fields)
        assert log.dropped == {"hits": 1}
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"ann@vet.at" in file.read_bytes()]
    assert ingest(path).records == 1
    with read_log(path) as reader:
        assert [(query.hits, query.count) for query in reader.queries()] == [((), None)]
    health = check_health(path)
    assert (health.healthy, health.dropped, health.left_out) == (False, {}, {"hits": 1})
    done = run_karat("online", "health", str(path))
    assert (done.returncode, b"left out hits of 1 record" in done.stdout) == (1, True)
    online.acknowledge_drops(path, author="ann", reason="seen")
    assert check_health(path).healthy


def test_ids_of_numpy_and_uuids_are_ids(tmp_path: Path) -> None:
    """They have one text, and hold nothing else."""
    path, own = tmp_path / "karat.db", UUID(int=7)
    with online.open(path) as log:
        log.record("flea", [np.str_("a"), np.int64(3), (own, np.float32(0.5)), {"id": 17}, {"document": own}])
        log.record("flea", [("a", np.float64(0.5)), ("b", 1), ("c", None)])
        assert log.dropped == {}
    ingest(path)
    with read_log(path) as reader:
        first, second = reader.queries()
    assert first.documents == ("a", "3", str(own), "17", str(own))
    assert [hit.score for hit in second.hits] == [0.5, 1.0, None]


def test_other_ids_that_are_none_are_not_recorded(tmp_path: Path) -> None:
    """In channels and citations, which a record is written without, and in feedback, which is dropped."""
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        with log.query("flea") as query:
            query.results(["a"], channels={"dense": [_OBJECT.page_content, object()]}, stages="x", weights={"a": "b"})
            query.answer("yes", [object()])
        log.feedback("read_after_search", session="s", document=_OBJECT)
        log.feedback("read_after_search", session="s", document="a", query=query)
        assert log.dropped == {"channels": 1, "citations": 1, "stages": 1, "weights": 1, "document": 1, "query": 1}
    ingest(path)
    with read_log(path) as reader:
        ((query,), events) = list(reader.queries()), list(reader.events())
    assert (query.documents, query.channels, query.answer, query.citations, events) == (("a",), {}, "yes", (), [])


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
