"""What a shadow costs the caller, beside calling the control alone.

``./scripts/bench shadow`` calls a control that returns ten hits: alone, in the shadow of a treatment that waits as a
service does, with the queue full, and with the breaker open; one call after the other, and one a millisecond. Promised
is a p99 below 100 microseconds for a call that is sampled. A second table has the caller's times beside every fault of
a treatment and of the store, with the same calls of the control alone before it. ``--quick`` takes a hundredth. Times
depend on the machine and on what else it does: run it alone. CPU is that of the caller's thread, which other programs
disturb less.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from karat import online
from karat.online import ingest
from karat.online.shadow import Limits, Shadow

HITS = [(f"document-{number}:chunk:{number}", 1 / (number + 1)) for number in range(10)]
PROMISED = 100
"""Microseconds at p99."""


def control(_: str, k: int) -> list[tuple[str, float]]:
    return HITS[:k]


def answer_late(_: str, k: int) -> list[tuple[str, float]]:
    time.sleep(0.002)
    return HITS[:k]


def hang(_: str, __: int) -> list[tuple[str, float]]:
    threading.Event().wait()
    return []


def fail(_: str, __: int) -> list[tuple[str, float]]:
    raise ConnectionError


def leave(_: str, __: int) -> list[tuple[str, float]]:
    raise SystemExit(1)


def flood(_: str, __: int) -> list[tuple[str, float]]:
    return HITS * 10_000


def hoard(_: str, k: int) -> list[tuple[str, float]]:
    HELD.append(bytearray(1 << 20))
    del HELD[:-50]
    return HITS[:k]


def compute(_: str, k: int) -> list[tuple[str, float]]:
    sum(number * number for number in range(50_000))  # it holds the interpreter's lock
    return HITS[:k]


HELD: list[bytearray] = []
FAULTS: dict[str, Callable[..., Any]] = {
    "it hangs": hang,
    "it raises": fail,
    "it raises SystemExit": leave,
    "it returns nonsense": lambda _, __: 7,
    "it answers another query": lambda _, __: [("another", 1.0)],
    "it returns 100,000 hits": flood,
    "it takes a megabyte a call": hoard,
    "it computes in Python": compute,
}
"""Treatments, by what is wrong with them."""


def make_calls(log: online.Log) -> dict[str, Callable[..., Any]]:
    """Return what is measured, by name."""
    narrow = Limits(queue=1, workers=1, timeout=3600)
    broken = Shadow(control, fail, log=log, feature="broken", percent=100, limits=Limits(failures=1, pause=3600))
    broken("first", 10)
    broken.drain()
    return {
        "the control alone": control,
        "a query is logged, to compare with": lambda query, k: log.record(query, HITS[:k]),
        "not sampled": Shadow(control, hang, log=log, feature="sampled", percent=0.01),
        "sampled, the treatment waits 2 ms": Shadow(control, answer_late, log=log, feature="waits", percent=100),
        "sampled, the queue is full": Shadow(control, hang, log=log, feature="full", percent=100, limits=narrow),
        "sampled, the breaker is open": broken,
    }


def measure(call: Callable[..., Any], count: int, pause: float) -> tuple[list[float], list[float]]:
    """Return the microseconds of each call, and those of CPU time, in order."""
    times, cpu = (array("d", bytes(8 * count)) for _ in range(2))  # no objects that take memory meanwhile
    for number in range(count):
        query = f"how do I reset the wifi password in room 12, query {number}"
        begin, start = time.thread_time(), time.perf_counter()  # asking for CPU time takes longer than some calls
        call(query, 10)
        times[number] = (time.perf_counter() - start) * 1e6
        cpu[number] = (time.thread_time() - begin) * 1e6
        if pause:
            time.sleep(pause)
    return sorted(times), sorted(cpu)


@contextmanager
def break_store(what: str, path: Path) -> Iterator[None]:
    """Let the store be locked, or the journal be gone, meanwhile."""
    if what == "the store is locked":
        ingest(path)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("begin exclusive")
            yield
            return
    if what == "the journal is gone":
        shutil.rmtree(f"{path}.journal")
    yield


def measure_faults(count: int) -> Iterator[str]:
    """Yield a row for each fault: the caller's times, beside those of the control alone just before."""
    stores = dict.fromkeys(("the store is locked", "the journal is gone"), answer_late)
    for name, treatment in (FAULTS | stores).items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "karat.db")
            with online.open(path) as log, break_store(name, path):
                limits = Limits(failures=10**9, timeout=0.5, hung=1000)
                shadow = Shadow(control, treatment, log=log, feature="fault", percent=100, limits=limits)
                alone, beside = measure(control, count, 0.001)[0], measure(shadow, count, 0.001)[0]
                shadow.abandon()
        yield f"| {name} | {' | '.join(_show(own, part) for own in (alone, beside) for part in (0.5, 0.99))} |"


def _show(values: list[float], part: float) -> str:
    return f"{values[int(len(values) * part)]:,.1f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    share = 100 if parser.parse_args().quick else 1
    print("| call | load | p50 us | p99 us | CPU p50 us | CPU p99 us | promised p99 |")
    print("|---|---|---|---|---|---|---|")
    for load, count, pause in (("one after the other", 20_000, 0.0), ("one a millisecond", 3000, 0.001)):
        with tempfile.TemporaryDirectory() as folder, online.open(Path(folder, "karat.db")) as log:
            for name, call in make_calls(log).items():
                times, cpu = measure(call, count // share, pause)
                if isinstance(call, Shadow):
                    call.drain(0.5)  # or its workers would be in the way of the next
                    call.abandon()
                shown = " | ".join(_show(values, part) for values in (times, cpu) for part in (0.5, 0.99))
                print(f"| {name} | {load} | {shown} | {PROMISED if name.startswith('sampled') else ''} |", flush=True)
    print(
        "\n| fault of the treatment, every call sampled | alone p50 us | alone p99 us | beside p50 us | beside p99 us |"
    )
    print("|---|---|---|---|---|")
    for row in measure_faults(2000 // share):
        print(row, flush=True)


if __name__ == "__main__":
    main()
