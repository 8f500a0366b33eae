"""What goes wrong around a watch: locks, stores that are gone, clocks that go back, others at work, and kills."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from pathlib import Path

import pytest

from in_process import run_karat
from karat.core import InputError, SystemFailed
from karat.monitoring import decide_canary, list_open_alerts
from karat.online.flags import change_flag, read_flag_history, read_flags
from karat.store import _sqlite, open_store
from monitoring.logs import CONFIG, DAY, look, make_query, make_window, write

AT = ["--at", "2023-11-15T00:06:00Z"]


def test_a_store_that_is_locked_is_infrastructure(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 3, and nothing changes; a dry look needs no lock."""
    monkeypatch.setattr(_sqlite, "_BUSY", 0.05)
    write(path, make_window(0, 200, error="down"))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("begin immediate")
    assert run_karat("online", "watch", path, *AT).returncode == 3
    assert run_karat("online", "watch", path, *AT, "--dry-run").returncode == 1
    holder.execute("rollback")
    holder.close()
    assert list_open_alerts(path) == ()
    assert run_karat("online", "watch", path, *AT).returncode == 1


def test_a_store_that_is_gone_or_damaged(path: Path) -> None:
    """No log is 2, one that cannot be read 3."""
    assert run_karat("online", "watch", path).returncode == 2
    path.write_text("not a database " * 500)
    assert run_karat("online", "watch", path).returncode == 3
    assert run_karat("online", "canary", path, "rerank").returncode == 3
    with pytest.raises((InputError, SystemFailed)):
        look(path, 1)


def test_a_clock_that_goes_back_changes_no_alert(path: Path) -> None:
    """An older look neither opens nor closes what a newer one has seen; later ones do again."""
    for number, error in enumerate(("down", "", "down")):
        write(path, make_window(number, error=error))
    assert look(path, 3).opened[:1] == ("errors",)
    back = look(path, 2)
    assert (back.closed, "changes no alert" in back.notes[-1]) == ((), True)
    assert [alert.name for alert in list_open_alerts(path) if alert.name == "errors"] == ["errors"]
    write(path, make_window(3))
    assert "errors" in look(path, 4).closed


def test_a_clock_that_was_ahead_leaves_nothing_behind(path: Path) -> None:
    """A look from the future can measure nothing, and changes nothing; the next one is as if it had not been."""
    write(path, make_window(0, error="down"))
    assert look(path, 1).opened[:1] == ("errors",)
    ahead = look(path, 100_000)
    assert (ahead.closed, ahead.window) == ((), None)
    write(path, make_window(1))
    assert "errors" in look(path, 2).closed


def test_many_watchers_open_an_alert_once(path: Path) -> None:
    """Whoever is first; there is one alert, and one message."""
    write(path, make_window(0, error="down"))
    gate, reports = threading.Barrier(4), []

    def run() -> None:
        gate.wait()
        reports.append(look(path, 1))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("errors" in report.opened for report in reports) == 1
    with open_store(path) as store:
        assert [row[1] for row in store.alerts.list_all()].count("errors") == 1
        assert len(store.alerts.unsent(0, DAY + 400)) == len(store.alerts.list_all())


@pytest.mark.slow
@pytest.mark.parametrize("statement", ["insert into flag_changes", "commit"])
def test_killed_in_the_middle_of_a_transition(path: Path, statement: str) -> None:
    """The flag is as it was, or as it should be, and never between: flag and history agree."""
    change_flag(path, "rerank", {"percent": 5}, author="ada", reason="canary")
    now = read_flag_history(path, "rerank")[0].time
    start = (now // 300 + 1) * 300
    for number in range(2):
        for variant in ("treatment", "control"):
            write(path, [
                make_query(f"{variant}{number}-{i}", start + number * 300 + i, f"q {i}", flags={"rerank": variant})
                for i in range(20)
            ])  # fmt: skip
    off = {name: limit for name, limit in CONFIG.alerts.items() if name in ("errors", "p95")}
    from dataclasses import replace

    config = replace(CONFIG, alerts=off, canary=replace(CONFIG.canary, recall_drop=None))
    if (child := os.fork()) == 0:
        _die_at(statement)
        decide_canary(path, "rerank", config=config, now=start + 700, apply=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    assert (read_flags(path)["rerank"][0].percent, len(read_flag_history(path, "rerank"))) == (5, 1)
    report = decide_canary(path, "rerank", config=config, now=start + 700, apply=True)
    assert (report.decision, report.applied) == ("promote", True)
    assert (read_flags(path)["rerank"][0].percent, len(read_flag_history(path, "rerank"))) == (25, 2)


def _die_at(statement: str) -> None:
    """Kill this process when a store is about to run a statement in a transaction that has changed something."""
    connect = sqlite3.connect

    def connected(*arguments: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)  # type: ignore[call-overload]
        changed = connection.total_changes

        def trace(sql: str) -> None:
            if sql.startswith(statement) and connection.total_changes > changed:
                os.kill(os.getpid(), signal.SIGKILL)

        connection.set_trace_callback(trace)
        return connection

    sqlite3.connect = connected  # type: ignore[assignment]
