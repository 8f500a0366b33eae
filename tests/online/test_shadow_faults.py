"""Treatments that hang, raise, lie or leak: the control's answers stay right, and what happened is counted."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from shadows import find, read, wait_for

from karat.online import Log
from karat.online.shadow import Limits, Shadow


def test_a_treatment_that_hangs(path: Path, log: Log) -> None:
    """It times out; its late answer belongs to nobody. When too many hang no more is asked, until some come back."""
    gate = threading.Event()

    def hang(query: str, k: int) -> list[str]:
        gate.wait()
        return ["late"]

    limits = Limits(timeout=0.02, queue=1000, workers=1, hung=2, failures=10**9)
    shadow = Shadow(find, hang, log=log, feature="f", percent=100, limits=limits)
    for number in range(5):
        assert shadow(f"q{number}", 2) == find(f"q{number}", 2)
    assert shadow.drain()
    assert shadow.hung == 2
    gate.set()
    wait_for(lambda: shadow.hung == 0)
    assert shadow("q5", 2) == find("q5", 2)
    assert shadow.drain()
    runs = read(path)
    assert [run.status for run in runs[:5]] == ["timeout"] * 2 + ["no worker"] * 3
    assert [run.treatment for run in runs[:5]] == [()] * 5
    assert runs[5].status in ("answered", "timeout"), "a slow machine"
    assert runs[0].error == "no answer within 0.02 s"


def test_an_answer_for_another_query_is_never_taken(path: Path, log: Log) -> None:
    """The answer that comes after its time is not that of the next call."""
    gate = threading.Event()

    def slow_once(query: str, k: int) -> list[str]:
        if query == "q0":
            gate.wait()
        return find(query, k)

    limits = Limits(timeout=0.05, workers=1, failures=10**9)
    shadow = Shadow(find, slow_once, log=log, feature="f", percent=100, limits=limits)
    shadow("q0", 2)
    wait_for(lambda: shadow.hung == 1)
    gate.set()
    for number in range(1, 20):
        shadow(f"q{number}", 2)
    assert shadow.drain()
    while not shadow.counts.get("answered"):  # all of them were late, on a busy machine
        shadow("another", 2)
        assert shadow.drain()
    runs = read(path)
    assert (runs[0].status, runs[0].treatment) == ("timeout", ())
    assert runs[0].treatment_latency == 50, "at least"
    assert all(run.treatment == (run.control if run.status == "answered" else ()) for run in runs[1:])
    assert "answered" in {run.status for run in runs[1:]}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("shard 3"), "RuntimeError: shard 3"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_a_treatment_that_raises(path: Path, log: Log, error: BaseException, told: str) -> None:
    """Whatever it is, the control answers, the worker lives, and the record says what it was."""

    def fail(query: str, k: int) -> list[str]:
        raise error

    shadow = Shadow(find, fail, log=log, feature="f", percent=100, limits=Limits(failures=10**9))
    for number in range(3):
        assert shadow(f"q{number}", 2) == find(f"q{number}", 2)
    assert shadow.drain()
    assert [(run.status, run.error, run.difference) for run in read(path)] == [("failed", told, "treatment failed")] * 3


@pytest.mark.parametrize("result", [None, "text", 7, {"a": 1}, object()])
def test_a_treatment_that_returns_nonsense(path: Path, log: Log, result: Any) -> None:
    """It has failed: no list is an empty list."""
    shadow = Shadow(find, lambda query, k: result, log=log, feature="f", percent=100)
    shadow("q", 2)
    assert shadow.drain()
    (run,) = read(path)
    assert (run.status, run.difference) == ("failed", "treatment failed")
    assert "hits" in run.error


def test_a_treatment_cannot_change_what_the_control_sees_or_returns(path: Path, log: Log) -> None:
    """It has arguments of its own, taken before the control was called; the control may change its own."""
    seen: list[Any] = []

    def control(query: str, filters: dict[str, list[str]]) -> list[str]:
        filters["tags"].append("control")
        return ["a", "b"]

    def treatment(query: str, filters: dict[str, list[str]]) -> list[str]:
        seen.append({name: list(tags) for name, tags in filters.items()})
        filters["tags"].clear()
        filters["more"] = []
        return ["a"]

    shadow = Shadow(control, treatment, log=log, feature="f", percent=100)
    filters = {"tags": ["x"]}
    result = shadow("q", filters)
    result.clear()  # the host does what it likes with its list, before the treatment is done
    assert shadow.drain()
    assert (filters, seen) == ({"tags": ["x", "control"]}, [{"tags": ["x"]}])
    assert read(path)[0].control == ("a", "b")


def test_arguments_that_cannot_be_copied(log: Log) -> None:
    """The control answers, the treatment is not asked, and it is counted."""
    shadow = Shadow(lambda query, lock: ["a"], find, log=log, feature="f", percent=100)
    assert shadow("q", threading.Lock()) == ["a"]
    assert shadow.counts == {"calls": 1, "sampled": 1, "errors": 1}


def test_a_full_queue_drops_and_counts(path: Path, log: Log) -> None:
    """One call runs, two wait, and the others are dropped: each is a record."""
    gate, started = threading.Event(), threading.Event()

    def wait(query: str, k: int) -> list[str]:
        started.set()
        gate.wait()
        return find(query, k)

    shadow = Shadow(find, wait, log=log, feature="f", percent=100, limits=Limits(timeout=600, queue=2, workers=1))
    shadow("q0", 2)
    started.wait()
    for number in range(1, 8):
        assert shadow(f"q{number}", 2) == find(f"q{number}", 2)
    assert shadow.pending == 3
    gate.set()
    assert shadow.drain()
    assert [run.status for run in read(path)] == ["answered"] * 3 + ["queue full"] * 5
    assert shadow.counts == {"calls": 8, "sampled": 8, "answered": 3, "queue full": 5}


def test_the_breaker_leaves_a_broken_treatment_alone(path: Path, log: Log) -> None:
    """After two failures it is asked no more; after the pause one call decides."""
    broken = [True]

    def treatment(query: str, k: int) -> list[str]:
        if broken[0]:
            raise ConnectionError
        return find(query, k)

    limits = Limits(failures=2, pause=30, workers=1)
    shadow = Shadow(find, treatment, log=log, feature="f", percent=100, limits=limits)
    now = [0.0]
    shadow.breaker._clock = lambda: now[0]
    for number in range(6):
        broken[0] = number < 4
        now[0] = 30.0 if number >= 4 else 0.0
        shadow(f"q{number}", 2)
        assert shadow.drain()
    runs = read(path)
    statuses = [run.status for run in runs]
    assert statuses == ["failed", "failed", "breaker open", "breaker open", "answered", "answered"]
    assert [run.control for run in runs] == [(f"q{n}-0", f"q{n}-1") for n in range(6)], "what it would be compared with"
    assert all(run.is_comparable for run in runs)
    assert shadow.breaker.opened == 1


def test_what_waited_when_the_breaker_opened_is_not_asked(path: Path, log: Log) -> None:
    """A queue full of calls does not go to a treatment that is down."""
    gate, queries = threading.Event(), []

    def fail(query: str, k: int) -> list[str]:
        queries.append(query)
        gate.wait()
        raise ConnectionError

    limits = Limits(timeout=600, failures=1, workers=1)
    shadow = Shadow(find, fail, log=log, feature="f", percent=100, limits=limits)
    for number in range(10):
        shadow(f"q{number}", 2)
    gate.set()
    assert shadow.drain()
    assert queries == ["q0"]
    assert [run.status for run in read(path)] == ["failed"] + ["breaker open"] * 9


def test_nothing_of_a_call_is_kept(log: Log) -> None:
    """Arguments and results of a treatment go when it is done, however large."""

    class Large(list[str]):
        pass

    kept: list[weakref.ref[Any]] = []

    def leak(query: str, filters: Large) -> Large:
        kept.append(weakref.ref(filters))
        result = Large(["a"] * 1000)
        kept.append(weakref.ref(result))
        return result

    shadow = Shadow(lambda query, filters: ["a"], leak, log=log, feature="f", percent=100)
    for _ in range(3):
        shadow("q", Large(["x"]))
    assert shadow.drain()
    wait_for(lambda: [reference() for reference in kept] == [None] * 6)


def test_async_treatments_that_hang_and_raise(path: Path, log: Log) -> None:
    """One that pays no attention to being cancelled hangs; SystemExit does not end the host's loop."""
    release = asyncio.Event()

    async def control(query: str) -> list[str]:
        return [query]

    async def treatment(query: str) -> list[str]:
        if query == "exit":
            raise SystemExit(3)
        if query == "cancel":
            raise asyncio.CancelledError
        while query == "hang" and not release.is_set():
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                await release.wait()
        return [query]

    limits = Limits(timeout=0.02, workers=1, hung=1, queue=10, failures=10**9)
    shadow = Shadow(control, treatment, log=log, feature="f", percent=100, limits=limits)

    async def main() -> None:
        for query in ("exit", "cancel", "fine", "hang", "fine"):
            assert await shadow(query) == [query]
            while shadow.pending:
                await asyncio.sleep(0.001)
        assert shadow.hung == 1
        release.set()
        while shadow.hung:
            await asyncio.sleep(0.001)
        for _ in range(20):
            await shadow("late")

    asyncio.run(main())
    statuses = [run.status for run in read(path)]
    assert statuses[:5] == ["failed", "failed", "answered", "timeout", "no worker"]
    counts = shadow.counts
    assert counts["queue full"] == 9
    assert counts["queue full"] + counts["unfinished"] + counts["answered"] + 4 == counts["sampled"] == 25
    assert shadow.pending == 0


def test_a_store_that_is_locked_or_gone(path: Path, log: Log) -> None:
    """Records wait in the journal; the host notices nothing."""
    shadow = Shadow(find, find, log=log, feature="f", percent=100)
    shadow("q0", 2)
    assert shadow.drain()
    read(path)
    connection = sqlite3.connect(path)
    connection.execute("begin exclusive")
    shadow("q1", 2)
    assert shadow.drain()
    connection.rollback()
    connection.close()
    for name in (path, path.with_name("karat.db-wal"), path.with_name("karat.db-shm")):
        name.unlink(missing_ok=True)
    shadow("q2", 2)
    assert shadow.drain()
    assert [run.text for run in read(path)] == ["q0", "q1", "q2"], "the journal still had q0"


def test_a_log_that_raises_is_not_the_hosts_problem() -> None:
    """Not even a broken log reaches the caller."""

    class Broken:
        def new_id(self) -> str:
            return "1"

        def around(self) -> tuple[None, None]:
            return None, None

        def write(self, draft: object) -> None:
            raise OSError

    shadow = Shadow(find, find, log=Broken(), feature="f", percent=100)
    assert shadow("a", 2) == find("a", 2)
    assert shadow.drain()
    assert shadow.counts["errors"] == 1


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_has_its_own_workers(path: Path, log: Log) -> None:
    """What waits in the parent is the parent's; the child begins with nothing, and its calls are recorded, too."""
    gate = threading.Event()

    def wait_in_parent(query: str, k: int) -> list[str]:
        if query.startswith("parent"):
            gate.wait()
        return find(query, k)

    limits = Limits(timeout=600, workers=1)
    shadow = Shadow(find, wait_in_parent, log=log, feature="f", percent=100, limits=limits)
    for number in range(3):
        shadow(f"parent{number}", 2)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            right = shadow("child", 2) == find("child", 2) and shadow.drain() and shadow.counts["calls"] == 1
            log.close()
            code = 0 if right else 1
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    gate.set()
    assert shadow.drain()
    runs = read(path)
    assert sorted(run.text for run in runs) == ["child", "parent0", "parent1", "parent2"]
    assert {run.status for run in runs} == {"answered"}


@pytest.mark.slow
def test_a_process_ends_while_its_treatment_hangs(path: Path) -> None:
    """At once, with its own exit code; what was not finished is told, the rest of the queue too."""
    program = f"""
import sys, threading
from karat import online
from karat.online.shadow import Shadow
log = online.open({str(path)!r}, keep_ids=True)
started = threading.Event()
def hang(query):
    started.set()
    threading.Event().wait()
shadow = Shadow(lambda query: [query], hang, log=log, feature="f", percent=100)
print([shadow(f"q{{n}}") for n in range(5)], flush=True)
started.wait()
sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (7, str([[f"q{n}"] for n in range(5)]), "")
    assert [(run.text, run.status) for run in read(path)] == [(f"q{n}", "unfinished") for n in range(5)]
