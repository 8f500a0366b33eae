"""Rounds of processes that are killed while they write and ingest; prints what was lost, and what came twice.

Arguments: a folder, the number of rounds, and a seed. Each round has four writers, one of which forks in the middle,
and two ingesters, all killed at random moments. A store has ten rounds, so that ingesters are killed while they make
it, while they fill it, and while they store what killed writers left; then all that was accepted must be in it exactly
once.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import random
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from karat import online
from karat.core import InputError
from karat.online import ingest, read_log

WRITERS = 5
ROUNDS = 10
"""Those that share a store: to make one takes as long as to fill it."""
_COUNT = struct.Struct("<Q")


def write(path: Path, name: str, board: mmap.mmap, place: int, rng: random.Random) -> None:
    """Write until killed; the board has how many were accepted."""
    log = online.open(path, segment_bytes=1 << 13, sync=0.01)
    fork_at = rng.randrange(40) if place == 0 else -1
    number = 0
    while True:
        if number == fork_at and not os.fork():
            name, place, number, fork_at = f"{name}-child", WRITERS - 1, 0, -1
        log.record(f"{name} {number}", ["a", "b", "c"], session=name)
        if log.dropped:
            os._exit(1)
        number += 1
        if number % 10 == 0:
            time.sleep(0.001)  # or most of the time would go into storing what they wrote
        _COUNT.pack_into(board, 8 * place, number)


def ingest_for_ever(path: Path) -> None:
    """Ingest until killed."""
    while True:
        with suppress(InputError):  # no writer has made the log yet
            ingest(path, wait=True)
        time.sleep(0.001)


def start(function: object, *arguments: object) -> int:
    """Run a function in a process of its own group; return its id."""
    pid = os.fork()
    if pid:
        return pid
    os.setpgid(0, 0)
    try:
        function(*arguments)  # type: ignore[operator]
    finally:
        os._exit(1)


def adopt_orphans() -> None:
    """Let this process be the parent of what its children leave: it has to see the end of a writer's fork, too."""
    assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER


def wait_for_orphans() -> None:
    """Wait until every fork of a killed writer has ended: until then it holds its segment, which stays."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


def run_round(path: Path, tag: str, rng: random.Random) -> tuple[dict[str, int], int]:
    """Return how many records of each writer were accepted, and how many processes had to be killed."""
    board = mmap.mmap(-1, 8 * WRITERS)
    names = [f"{tag}-{number}" for number in range(WRITERS - 1)] + [f"{tag}-0-child"]
    pids = [start(write, path, name, board, place, rng) for place, name in enumerate(names[:-1])]
    pids += [start(ingest_for_ever, path) for _ in range(2)]
    rng.shuffle(pids)
    killed = 0
    for pid in pids:
        time.sleep(rng.random() * 0.004)
        while os.getpgid(pid) != pid:  # it has not begun yet
            time.sleep(0.001)
        os.killpg(pid, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    wait_for_orphans()
    return {name: _COUNT.unpack_from(board, 8 * place)[0] for place, name in enumerate(names)}, killed


def run_rounds(path: Path, numbers: Sequence[int], rng: random.Random) -> Counter[str]:
    """Run rounds with a store; return how many records were accepted, and what became of them."""
    result: Counter[str] = Counter()
    expected: set[str] = set()
    for number in numbers:
        accepted, killed = run_round(path, str(number), rng)
        expected.update(f"{name} {index}" for name, count in accepted.items() for index in range(count))
        result["killed"] += killed
    result["damaged"] = ingest(path, wait=True).damaged
    with read_log(path) as reader:
        there = Counter(query.text for query in reader.queries())
    result["accepted"] = len(expected)
    result["lost"] = len(expected - there.keys())
    result["twice"] = sum(count > 1 for count in there.values())
    result["segments"] = len(list(path.with_name(f"{path.name}.journal").glob("*.seg")))
    return result


def main(folder: Path, rounds: int, seed: int) -> None:
    adopt_orphans()
    rng = random.Random(seed)
    result: Counter[str] = Counter()
    for first in range(0, rounds, ROUNDS):
        result += run_rounds(folder / f"{first}.db", range(first, min(first + ROUNDS, rounds)), rng)
        for file in folder.glob(f"{first}.db*"):
            if file.is_file():
                file.unlink()
    names = ("accepted", "lost", "twice", "killed", "segments", "damaged")
    print(json.dumps({name: result[name] for name in names}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
