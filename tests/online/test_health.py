"""Health, and ingesting as a thread and a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from in_process import run_karat
from karat import online
from karat.core import InputError, KaratError
from karat.online import check_health, follow, ingest
from karat.online._paths import Paths


def run(*arguments: str) -> str:
    """Run karat; return what it prints."""
    done = run_karat(*arguments)
    assert done.returncode == 0, done.stderr
    return str(done.stdout.decode())


def test_health_before_and_after_ingesting(tmp_path: Path) -> None:
    """What waits, what is stored, who writes, and what was dropped; looking changes nothing."""
    path = tmp_path / "karat.db"
    with pytest.raises(InputError, match="no such log"):
        check_health(path)
    log = online.open(path)
    log.record("q", ["a"], time=5.0)
    log.feedback("impression", evil=2**70)
    before = check_health(path)
    assert (before.journal.waiting, before.journal.writers, before.queries.rows) == (1, 1, 0)
    assert (before.dropped, before.healthy, before.bytes) == ({"encode": 1}, False, 0)
    ingest(path)
    after = check_health(path)
    assert (after.journal.waiting, after.queries.rows, after.queries.first) == (0, 1, "1970-01-01T00:00:05.000000Z")
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
        log.record("q", ["a"], session="s", time=5.0)
        log.record("q", ["a"], session="t", time=5.0)
    (Paths(path).journal / "broken.seg").write_bytes(b"broken")
    assert json.loads(run("online", "ingest", "--json"))["records"] == 2
    shown = run("online", "health")
    assert "karat.db: records were lost" in shown
    assert "queries  2, 1970-01-01T00:00:05.000000Z" in shown
    assert "the header is damaged" in shown
    assert "1 rows removed" in run("online", "forget", "karat.db", "--session", "s")
    assert json.loads(run("online", "health", "--json"))["healthy"]
    assert "1 queries before" in run("online", "expire")
    missing = run_karat("online", "health", "other.db")
    assert (missing.returncode, missing.stderr.count(b"\n")) == (2, 1)
    assert run_karat("online", "forget").returncode == 2


def test_a_thread_of_the_host(tmp_path: Path) -> None:
    """A log with an ingester has everything in the store when it is closed."""
    path = tmp_path / "karat.db"
    with online.open(path, ingest=True) as log:
        for number in range(10):
            log.record(str(number), ["a"])
    assert check_health(path).queries.rows == 10
    assert not list(Paths(path).journal.glob("*.seg"))


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
