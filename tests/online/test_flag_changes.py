"""Flags in a store and in running hosts: history, writers at once, and changes that arrive."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from karat.core import InputError, UsageError
from karat.online.flags import (
    CONTROL,
    EVERY,
    Flag,
    FlagChange,
    FlagConflict,
    LiveFlags,
    change_flag,
    read_flag_history,
    read_flags,
)

WHO: dict[str, Any] = {"author": "ada", "reason": "canary"}


def test_every_change_is_in_the_history(tmp_path: Path) -> None:
    """Who, when, why, from what, to what; what changes nothing has no entry."""
    path = tmp_path / "karat.db"
    first = change_flag(path, "rerank", {"percent": 5}, **WHO)
    assert first is not None
    assert (first.version, first.before, first.after) == (1, None, Flag(key="rerank", percent=5))
    assert change_flag(path, "rerank", {"percent": 5}, **WHO) is None
    fields = {"enabled": False, "overrides": {"tester": "treatment"}, "variants": {"treatment": 1, "large": 2}}
    second = change_flag(path, "rerank", fields, author="bob", reason="errors\nin the logs")
    change_flag(path, "other", {}, **WHO)
    assert read_flag_history(path, "rerank") == (first, second)
    assert [change.after.key for change in read_flag_history(path)] == ["rerank", "rerank", "other"]
    assert second is not None
    assert (second.before, second.author, second.reason) == (first.after, "bob", "errors\nin the logs")
    assert read_flags(path) == {"other": (Flag(key="other"), 1), "rerank": (second.after, 2)}
    assert second.after.percent == 5


def test_half_of_a_pair_is_refused(path: Path) -> None:
    """As the shell gives a byte that is no UTF-8, as a key or in a reason; nothing is changed."""
    with pytest.raises(InputError, match="half of a surrogate pair"):
        change_flag(path, "\udcff", {"percent": 5}, author="ada", reason="try it")
    with pytest.raises(InputError, match="half of a surrogate pair"):
        change_flag(path, "f", {"percent": 5}, author="ada", reason="try \udcff")
    assert read_flags(path) == {}


@pytest.mark.parametrize("settings", [{"author": None}, {"author": 5}, {"reason": " "}, {"reason": None}])
def test_a_change_needs_an_author_and_a_reason(path: Path, settings: dict[str, Any]) -> None:
    """They are texts; and what changes is a mapping."""
    with pytest.raises(UsageError, match="a change of a flag needs"):
        change_flag(path, "f", {"percent": 5}, **(WHO | settings))
    with pytest.raises(UsageError, match="not a mapping of fields"):
        change_flag(path, "f", ["percent"], **WHO)  # type: ignore[arg-type]


def test_of_many_writers_at_once_one_makes_the_transition(tmp_path: Path) -> None:
    """Eight who looked at the same version change it at the same time, ten times: one succeeds, seven are told."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {}, **WHO)

    def turn(version: int, writer: int) -> FlagChange | None:
        start.wait()
        try:
            return change_flag(path, "rerank", {"percent": version + writer / 10}, expected=version, **WHO)
        except FlagConflict:
            return None

    with ThreadPoolExecutor(8) as pool:
        for version in range(1, 11):
            start = threading.Barrier(8)
            outcomes = list(pool.map(turn, [version] * 8, range(8)))
            assert sum(outcome is not None for outcome in outcomes) == 1
    history = read_flag_history(path, "rerank")
    assert [change.version for change in history] == list(range(1, 12))
    assert [change.before for change in history[1:]] == [change.after for change in history[:-1]]


def test_a_change_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """Neither the flag nor its history changes, whatever was wrong."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 5}, **WHO)
    for fields, options, message in (
        ({"percent": 500}, WHO, "from 0 to 100"),
        ({"percnt": 5}, WHO, "did you mean 'percent'"),
        ({"key": "other"}, WHO, "no field 'key'"),
        ({"percent": 6}, WHO | {"author": " "}, "needs author"),
        ({"percent": 6}, WHO | {"reason": ""}, "needs reason"),
        ({"percent": 6}, WHO | {"expected": 0}, "at version 1 and not 0"),
    ):
        with pytest.raises(UsageError, match=message):
            change_flag(path, "rerank", fields, **options)
    assert len(read_flag_history(path)) == 1
    assert read_flags(path)["rerank"][0].percent == 5
    with pytest.raises(InputError, match="no flag 'rerenk', did you mean 'rerank'"):
        read_flag_history(path, "rerenk")


def test_a_clock_that_goes_backwards_changes_no_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """History is in the order of versions, and not of clocks."""
    path, clock = tmp_path / "karat.db", iter([1000.0, 500.0, 700.0])
    monkeypatch.setattr("karat.online.flags._changes.time.time", lambda: next(clock))
    for percent in (1, 2, 3):
        change_flag(path, "k", {"percent": percent}, **WHO)
    assert [(change.time, change.after.percent) for change in read_flag_history(path, "k")] == [
        (1000.0, 1),
        (500.0, 2),
        (700.0, 3),
    ]


def test_a_change_reaches_a_running_host(tmp_path: Path) -> None:
    """Without a restart: its thread looks into the store, and the next answer is the new one."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {"percent": 100}, **WHO)
    with LiveFlags(path, every=0.01) as flags:
        assert flags.assign("rerank", "s1") == "treatment"
        change_flag(path, "rerank", {"enabled": False}, **WHO)
        for _ in range(60_000):  # a failsafe of ten minutes
            if flags.assign("rerank", "s1") == CONTROL:
                break
            threading.Event().wait(0.01)
        assert flags.assign("rerank", "s1") == CONTROL
        assert flags.age is not None
        assert flags.error == ""
    change_flag(path, "rerank", {"enabled": True}, **WHO)
    assert flags.assign("rerank", "s1") == CONTROL, "nobody looks after the end"
    assert flags.refresh()
    assert flags.assign("rerank", "s1") == "treatment"


@pytest.mark.sqlite
def test_a_store_that_is_gone_or_broken_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Flags stay as they were, the reason is told once, and a store that comes back is read again."""
    path = tmp_path / "karat.db"
    with LiveFlags(path, every=1000) as flags, caplog.at_level(logging.WARNING):
        assert flags.assign("rerank", "s1") == flags.assign("rerank", "s2") == CONTROL
        assert flags.age is None
        assert "no such store" in flags.error
        change_flag(path, "rerank", {"percent": 100}, **WHO)
        assert flags.refresh()
        content = path.read_bytes()
        path.write_bytes(b"nonsense" * 1000)
        caplog.clear()
        assert not flags.refresh()
        assert not flags.refresh()
        assert flags.assign("rerank", "s1") == "treatment"
        assert [record.message.split(":")[0] for record in caplog.records] == ["flags stay as they were"]
        path.write_bytes(content)
        assert flags.refresh()
        assert flags.error == ""


@pytest.mark.sqlite
def test_a_flag_that_was_damaged_is_told(tmp_path: Path) -> None:
    """One message, by the reader and by a running host."""
    path = tmp_path / "karat.db"
    change_flag(path, "rerank", {}, **WHO)
    for document in ("{}", "[1]", '{"key": "rerank", "percent": 7000}', '{"key": "rerank", "newer": 1}'):
        connection = sqlite3.connect(path)
        with connection:
            connection.execute("update flags set document = ?", (document,))
        connection.close()
        with pytest.raises(InputError, match="a flag cannot be read"):
            read_flags(path)


def test_a_flag_that_nobody_set_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A key with a typing mistake would otherwise be a feature that never runs."""
    change_flag(tmp_path / "karat.db", "rerank", {}, **WHO)
    with LiveFlags(tmp_path / "karat.db", every=1000) as flags, caplog.at_level(logging.WARNING):
        assert {flags.assign("rerenk", f"s{number}") for number in range(5)} == {CONTROL}
        assert flags.get("rerenk") is None
        assert flags.get("rerank") == Flag(key="rerank")
    assert len(caplog.records) == 1
    with pytest.raises(UsageError, match="every=0"):
        LiveFlags(every=0)


FORK = """
import os, sys, time
from karat.online.flags import LiveFlags, change_flag
path = sys.argv[1]
flags = LiveFlags(path, every=0.01)
if os.fork() == 0:
    change_flag(path, "k", {"percent": 100}, author="child", reason="fork")
    for _ in range(60_000):
        if flags.assign("k", "s") == "treatment":
            os._exit(7)
        time.sleep(0.01)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.slow
def test_the_child_of_a_fork_is_kept_up_to_date(tmp_path: Path) -> None:
    """A web server forks its workers after it has read the flags; each gets a thread of its own."""
    path = tmp_path / "karat.db"
    change_flag(path, "k", {}, **WHO)
    command = [sys.executable, "-W", "ignore", "-c", FORK, str(path)]
    process = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=True)
    assert process.stdout.strip() == "7"


HOST = """
import sys, time
from karat.online.flags import LiveFlags
with LiveFlags(sys.argv[1]) as flags:
    print(flags.assign("k", "s"), flush=True)
    while flags.assign("k", "s") == "treatment":
        time.sleep(0.01)
    print(flags.assign("k", "s"), flush=True)
"""


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_kill_switch_reaches_another_process_within_two_looks(tmp_path: Path) -> None:
    """A host that runs with the default settings, and another process that changes the flag: it needs no restart.

    What a look costs is not promised, but how often there is one: twice a second.
    """
    path = tmp_path / "karat.db"
    change_flag(path, "k", {"percent": 100}, **WHO)
    assert EVERY * 2 <= 1
    with subprocess.Popen(
        [sys.executable, "-c", HOST, str(path)], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    ) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "treatment\n"
        change_flag(path, "k", {"enabled": False}, **WHO)
        assert host.stdout.readline() == "control\n"
        assert host.wait(timeout=600) == 0
