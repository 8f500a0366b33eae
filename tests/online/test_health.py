"""Health, and ingesting as a thread and a process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from in_process import run_karat
from karat import online
from karat.core import InputError, KaratError
from karat.online import check_health, follow, ingest
from karat.online._paths import find_paths
from karat.online.flags import change_flag
from karat.online.trials import TrialPlan, start_trial
from karat.store import open_store


def run(*arguments: str, code: int = 0) -> str:
    """Run karat; return what it prints."""
    done = run_karat(*arguments)
    assert done.returncode == code, done.stderr
    return str(done.stdout.decode())


def test_health_before_and_after_ingesting(tmp_path: Path) -> None:
    """What waits, what is stored, who writes, and what was dropped; looking changes nothing."""
    path = tmp_path / "karat.db"
    with pytest.raises(InputError, match="no such log"):
        check_health(path)
    log = online.open(path)
    log.record("q", ["a"], time=1.7e9 + 5)
    log.feedback("impression", evil=2**70)
    before = check_health(path)
    assert (before.journal.waiting, before.journal.writers, before.queries.rows) == (1, 1, 0)
    assert (before.dropped, before.healthy, before.bytes) == ({"encode": 1}, False, 0)
    ingest(path)
    after = check_health(path)
    assert (after.journal.waiting, after.queries.rows, after.queries.first) == (0, 1, "2023-11-14T22:13:25.000000Z")
    assert after.dropped == {"encode": 1}
    log.close()
    ingest(path)
    last = check_health(path)
    assert (last.journal.segments, last.dropped, last.run) == (0, {"encode": 1}, None)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each verb prints what the library returns, as text and as JSON."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "karat.db"
    with online.open(path) as log:
        log.record("q", ["a"], session="s", time=1.7e9 + 5)
        log.record("q", ["a"], session="t", time=1.7e9 + 5)
    (find_paths(path).journal / "broken.seg").write_bytes(b"broken")
    assert json.loads(run("online", "ingest", "--json"))["records"] == 2
    shown = run("online", "health", code=1)
    assert "karat.db: records were lost" in shown
    assert "queries  2, 2023-11-14T22:13:25.000000Z" in shown
    assert "the header is damaged" in shown
    assert "1 row removed" in run("online", "forget", "karat.db", "--session", "s")
    assert json.loads(run("online", "health", "--json"))["healthy"]
    assert "1 queries before" in run("online", "expire")
    missing = run_karat("online", "health", "other.db")
    assert (missing.returncode, missing.stderr.count(b"\n")) == (2, 1)
    assert run_karat("online", "forget").returncode == 2


def test_dropped_records_can_be_acknowledged(path: Path) -> None:
    """Health then passes and still tells them, with who, when, why and how many; what is dropped later counts again."""
    log = online.open(path)
    log.record("q", ["a"])
    log.feedback("impression", evil=2**70)
    log.feedback("impression", evil=2**70)
    done = json.loads(run("online", "acknowledge", str(path), "--reason", "a \x1b[31mbug", "--author", "ann", "--json"))
    assert (done["dropped"], done["author"]) == ({"encode": 2}, "ann")
    shown = run("online", "health", str(path))  # the host still runs, and nothing is ingested
    assert "healthy; all that was lost is acknowledged" in shown
    assert "dropped  2 could not be encoded, acknowledged" in shown
    assert f"seen     {done['time']} by ann: a " in shown
    assert "\x1b" not in shown
    log.feedback("impression", evil=2**70)
    assert "dropped  3 could not be encoded, 2 of them acknowledged" in run("online", "health", str(path), code=1)
    log.close()
    ingest(path)
    assert not check_health(path).healthy
    assert run("online", "acknowledge", str(path), "--reason", "again").startswith("acknowledged by ")
    assert "nothing to acknowledge" in run("online", "acknowledge", str(path), "--reason", "and again")
    health = check_health(path)
    assert (health.healthy, health.dropped, health.acknowledged) == (True, {"encode": 3}, {"encode": 3})
    assert [dict(done.dropped) for done in health.acknowledgements] == [{"encode": 2}, {"encode": 1}]


def test_what_cannot_be_acknowledged(path: Path) -> None:
    """No reason is refused, and so is a log that is not there; damage is seen by removing its file."""
    assert run_karat("online", "acknowledge", path, "--reason", "x").returncode == 2
    with online.open(path) as log:
        log.record("q", ["a"])
    (find_paths(path).journal / "broken.seg").write_bytes(b"broken")
    ingest(path)
    assert run_karat("online", "acknowledge", path, "--reason", " ").returncode == 2
    assert "nothing to acknowledge" in run("online", "acknowledge", str(path), "--reason", "x")
    assert not check_health(path).healthy
    shutil.rmtree(find_paths(path).journal)
    assert "nothing to acknowledge" in run("online", "acknowledge", str(path), "--reason", "x")


def test_damage_is_told_before_it_is_ingested(path: Path) -> None:
    """A record that was overwritten, those after it, and that its file was removed because somebody has seen it."""
    with online.open(path) as log:
        for text in ("first", "second", "third"):
            log.record(text, ["a"])
    (segment,) = find_paths(path).journal.glob("*.seg")
    data = bytearray(segment.read_bytes())
    at = data.index(b"second")
    data[at : at + 16] = b"\xff" * 16
    segment.write_bytes(data)
    before = json.loads(run("online", "health", str(path), "--json", code=1))["journal"]
    assert (before["waiting"], [damage["reason"] for damage in before["damages"]]) == (2, ["the checksum is wrong"])
    assert b"bytes of " + segment.name.encode() in run_karat("online", "health", path).stdout
    ingest(path)
    after = check_health(path)
    assert (after.healthy, after.queries.rows, after.journal.damages) == (False, 2, ())
    assert after.damages[0].bytes == before["damages"][0]["bytes"]
    (find_paths(path).torn / after.damages[0].file).unlink()
    assert "healthy" in run("online", "health", str(path))


def test_damage_in_a_segment_that_is_written_to(path: Path) -> None:
    """What lies before another record is damaged; what may be half written is not."""
    log = online.open(path)
    log.record("first", ["a"])
    (segment,) = find_paths(path).journal.glob("*.seg")
    with segment.open("r+b") as file:
        end = len(file.read().rstrip(b"\0"))
        file.seek(end + 16)
        file.write(b"half")
    assert (check_health(path).healthy, check_health(path).journal.waiting) == (True, 1)
    log.record("second", ["a"])
    with segment.open("r+b") as file:
        file.seek(segment.read_bytes().index(b"first"))
        file.write(b"other")
    assert (check_health(path).healthy, check_health(path).journal.waiting) == (False, 1)
    log.close()


def test_a_log_that_cannot_be_read(path: Path) -> None:
    """It is trouble of the machine, not of the command line."""
    path.write_bytes(b"no store" * 1000)
    assert run_karat("online", "health", path).returncode == 3


def test_queries_without_a_session(path: Path) -> None:
    """They are told if they are many."""
    with online.open(path) as log:
        log.record("q", ["a"])
        for number in range(4):
            log.record("q", ["a"], session=f"s{number}")
    ingest(path)
    assert "sessions" not in run("online", "health", str(path))
    with online.open(path) as log:
        log.record("q", ["a"])
    ingest(path)
    assert check_health(path).without_session == 2
    assert "sessions 2 queries have none (33%)" in run("online", "health", str(path))


def test_ingesting_where_there_is_no_log(path: Path) -> None:
    """It is refused, and nothing is made; following waits for one, and says so once."""
    missing = run_karat("online", "ingest", path)
    assert (missing.returncode, b"no such log" in missing.stderr) == (2, True)
    assert list(path.parent.iterdir()) == []
    stop, waits = threading.Event(), list[str]()

    def write() -> None:
        waits.append("once")
        with online.open(path) as log:
            log.record("q", ["a"])
        stop.set()

    assert follow(path, stop, every=600, on_wait=write).records == 1
    assert waits == ["once"]


def test_a_thread_of_the_host(tmp_path: Path) -> None:
    """A log with an ingester has everything in the store when it is closed."""
    path = tmp_path / "karat.db"
    with online.open(path, ingest=True) as log:
        for number in range(10):
            log.record(str(number), ["a"])
    assert check_health(path).queries.rows == 10
    assert not list(find_paths(path).journal.glob("*.seg"))


def test_following_goes_on_after_an_error(tmp_path: Path) -> None:
    """A store that cannot be used is told of; when it can, all is ingested."""
    path = tmp_path / "karat.db"
    path.mkdir()
    with online.open(path) as log:
        log.record("q", ["a"])
    stop, errors = threading.Event(), []

    def mend(error: Exception) -> None:
        errors.append(error)
        path.rmdir()
        stop.set()

    assert follow(path, stop, every=600, on_error=mend).records == 1
    assert len(errors) == 1


def is_there(path: Path) -> bool:
    """Return whether a store has a query; it may be half made."""
    try:
        return check_health(path).queries.rows > 0
    except KaratError:
        return False


@pytest.mark.slow
def test_a_process_of_its_own(tmp_path: Path) -> None:
    """``karat online ingest --follow`` ends at a signal, with all that was logged until then."""
    path = tmp_path / "karat.db"
    log = online.open(path)
    log.record("first", ["a"])
    command = [sys.executable, "-m", "karat", "online", "ingest", str(path), "--follow", "--every", "0.05", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    while not is_there(path):
        assert process.poll() is None
    log.record("second", ["a"])
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=600)
    log.close()
    assert json.loads(printed)["records"] == 2


def test_a_journal_that_somebody_removes_under_a_running_host(tmp_path: Path) -> None:
    """Nothing of the last segment is lost, and the command line says that older records may be."""
    path = tmp_path / "karat.db"
    log = online.open(path)
    log.record("before", ["a"])
    shutil.rmtree(find_paths(path).journal)
    log.record("after", ["a"])
    log.close()
    assert run_karat("online", "ingest", path).stdout.startswith(b"2 records are new")
    health = check_health(path)
    assert (health.healthy, health.removed, health.dropped) == (False, 1, {})
    text = run_karat("online", "health", path).stdout
    assert b"records may be lost" in text
    assert b"removed  segments of the journal under a running host: 1; it wrote them again" in text


def test_what_is_on_its_way_to_people(path: Path) -> None:
    """Trials that run, flags between nobody and everybody, and open alerts; none of them changes the exit code."""
    for key, changes in {
        "all": {"percent": 100},
        "none": {},
        "off": {"percent": 5, "enabled": False},
        "shadowed": {"shadow_percent": 10},
        "some": {"percent": 25},
    }.items():
        change_flag(path, key, changes, author="ada", reason="try")
    start_trial(path, TrialPlan(feature="rerank"))
    with open_store(path, write=True) as store, store.transaction():
        store.alerts.add("p95", 1.7e9, 1.7e9, "{}", "{}")
    health = check_health(path)
    assert [(flag.key, flag.percent, flag.shadow_percent) for flag in health.flags] == [
        ("shadowed", 0, 10), ("some", 25, 0),
    ]  # fmt: skip
    assert [(trial.feature, trial.number, trial.status) for trial in health.trials] == [("rerank", 1, "running")]
    assert [(alert.name, alert.opened) for alert in health.alerts] == [("p95", "2023-11-14T22:13:20.000000Z")]
    done = run_karat("online", "health", path)
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()[-4:]
    assert lines[0].startswith("trial    rerank 1 is running since ")
    assert lines[1].startswith("flag     shadowed is at 0 %, and 10 % in the shadow, since ")
    assert lines[3] == "alert    p95 is open since 2023-11-14T22:13:20.000000Z: karat online watch says why"


def test_how_long_records_wait_and_how_much_room_there_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest counts, by when it was written and not by its own time; nothing waits after an ingestion."""
    log = online.open(path)
    log.record("wifi", [], time=1.7e9)
    log.record("pool", [])
    now = time.time()
    monkeypatch.setattr("karat.online._health.time.time", lambda: now + 90)
    health = check_health(path)
    assert health.journal.lag is not None
    assert 90 <= health.journal.lag < 690  # written just now
    assert health.free == pytest.approx(shutil.disk_usage(path.parent).free, rel=0.5)
    text = run_karat("online", "health", path).stdout.decode()
    assert "lag      the oldest has waited for " in text
    assert "disk     0 bytes of the store, " in text
    monkeypatch.setattr("karat.online._health.time.time", lambda: now - 90)  # a clock that was set back
    assert check_health(path).journal.lag == 0
    log.close()
    ingest(path)
    assert check_health(path).journal.lag is None
    monkeypatch.setattr("karat.online._health.shutil.disk_usage", _fail)
    assert (check_health(path).free, b" free" in run_karat("online", "health", path).stdout) == (None, False)


def _fail(path: object) -> None:
    raise OSError
