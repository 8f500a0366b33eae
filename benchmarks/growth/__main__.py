"""How time and memory of verbs grow with queries, documents, judgments, hits, words, measures, run files and sessions.

``./scripts/bench growth`` runs each verb at 1x, 4x and 16x along every axis on which its work depends, and prints CPU
seconds, peak memory and the exponent: 1 is linear, 2 is quadratic. Above 1.2 there is a note. Then it measures the
goals: 100,000 queries with 10 hits each and 1,000,000 judgments. ``--quick`` begins two axes with a twentieth, and
leaves the goals out; ``--axis`` and ``--verb`` choose some.

Each verb runs in a fork of a process that has imported karat, so that what is measured is the work and not the start.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import verbs
import workload

EXIT = os._exit  # karat puts another in its place, so that no system ends a run with it
FACTORS = (1, 4, 16)
STEEP = 1.2
LEAST_SECONDS, LEAST_MEGABYTES = 0.5, 150
"""Below these, what a verb takes at 16x says nothing about how it grows: a fork uses what this process has freed."""
QUICK = ("queries", "hits")
APART = ("files", "sessions")
"""The axes on which nothing is evaluated."""
GOALS = {"eval": 10, "gate": 5, "compare": 5, "report html": 15}
MEGABYTES = 1_000
ADDITIONS = 20_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a twentieth of two axes, without the goals")
    parser.add_argument("--goals", action="store_true", help="only the goals")
    parser.add_argument("--axis", action="append", choices=verbs.AXES, help="only this axis; repeat")
    parser.add_argument("--verb", action="append", help="only this verb; repeat")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="karat-growth-") as scratch:
        warm_up(Path(scratch) / "warm")
        steep: list[str] = []
        if not options.goals:
            size = workload.Size(queries=50 if options.quick else 1_000)
            print("| axis | verb | CPU s at 1x | 4x | 16x | exponent | MB at 1x | 4x | 16x | exponent |")
            print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
            for axis in options.axis or (QUICK if options.quick else verbs.AXES):
                steep += measure_axis(Path(scratch), axis, size, options.verb)
            print(f"\nabove {STEEP}: {', '.join(steep) or 'nothing'}")
        missed = [] if options.quick or options.axis or options.verb else measure_goals(Path(scratch))
    raise SystemExit(bool(steep or missed))


def warm_up(folder: Path) -> None:
    """Import what verbs import, in this process, so that no fork has to."""
    names = [name for name in verbs.EVERY if name not in verbs.WITH_THREADS]
    run_verbs(verbs.prepare(folder, workload.Size(queries=20, documents=60, sessions=20)), names, call)


def measure_axis(scratch: Path, axis: str, base: workload.Size, chosen: list[str] | None) -> list[str]:
    """Run the verbs of an axis at each factor, print their rows, and return those that grow too fast."""
    costs: dict[str, list[tuple[float, float]]] = {}
    for factor in FACTORS:
        folder = scratch / f"{axis}-{factor}"
        at = verbs.prepare(folder, base if axis == "files" else small(base, axis).times(axis, factor))
        if axis == "files":
            ask_often(at, 4 * factor)
        if axis == "sessions":
            fork(lambda at=at: at.log)  # memory that was used before would not be counted
        names = [*(verbs.ASKING if axis not in APART else ()), *verbs.AXES[axis]]
        wanted = [name for name in names if chosen is None or name in chosen]
        for name, cost in run_verbs(at, names, lambda arguments: fork(lambda: call(arguments))).items():
            if name in wanted:
                costs.setdefault(name, []).append(cost)
    steep = []
    for name, cost in costs.items():
        seconds, megabytes = zip(*cost, strict=True)
        time, memory = exponent(seconds, LEAST_SECONDS), exponent(megabytes, LEAST_MEGABYTES)
        cells = [
            *(f"{second:.2f}" for second in seconds),
            shown(time),
            *(f"{mb:.0f}" for mb in megabytes),
            shown(memory),
        ]
        print(f"| {axis} | {name} | {' | '.join(cells)} |", flush=True)
        steep += [f"{name} by {axis} ({shown(value)})" for value in (time, memory) if value and value > STEEP]
    return steep


def ask_often(at: verbs.Place, times: int) -> None:
    """Make so many runs, each of a system with another shift."""
    for number in range(times):
        arguments = ["eval", at.project, "--parameter", f"shift={number}"]
        fork(lambda arguments=arguments: call(arguments))


def small(base: workload.Size, axis: str) -> workload.Size:
    """Return where an axis begins: with fewer queries if each of them becomes larger."""
    if axis == "queries":
        return base
    fewer = workload.Size(queries=max(base.queries // 5, 20), documents=max(base.queries // 2, 100))
    return fewer.times("measures", 4).times("segments", 4) if axis in ("measures", "segments") else fewer


def run_verbs(
    at: verbs.Place, names: list[str], run: Callable[[verbs.Work], tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Run verbs in a project, those that make files first; return CPU seconds and megabytes of each."""
    return {name: run(arguments(at)) for name, arguments in verbs.EVERY.items() if name in names}


def fork(work: Callable[[], object]) -> tuple[float, float]:
    """Do some work in a child process; return its CPU seconds, and the megabytes that it needed beyond this process."""
    before = resident()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            EXIT(code)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"a verb failed: {status}")
    return usage.ru_utime + usage.ru_stime, max(usage.ru_maxrss / 1024 - before, 0.0)


def call(arguments: verbs.Work) -> tuple[float, float]:
    """Run a command line of karat in this process, in silence; a failed gate is no failure here."""
    if callable(arguments):
        arguments()
        return 0.0, 0.0
    from karat.cli._main import _run

    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        output, errors = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = nothing
        try:
            code = _run(arguments)
        finally:
            sys.stdout, sys.stderr = output, errors
    if code not in (0, 1, 4):
        raise SystemExit(f"karat {' '.join(arguments)}: exit code {code}")
    return 0.0, 0.0


def resident() -> float:
    """Return the megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def exponent(values: tuple[float, ...], least: float) -> float | None:
    """Return the power of the size by which a cost grew from 4x to 16x; None if it is too small to tell."""
    return math.log(values[2] / max(values[1], least / 16), 4) if values[2] >= least else None


def shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def measure_goals(scratch: Path) -> list[str]:
    """Run the verbs that have goals at 100,000 queries, print what they take, and return those that take more."""
    at = verbs.prepare(scratch / "goals", workload.Size(queries=100_000, documents=10_000))
    print("\n100,000 queries, 1,000,000 hits, 1,000,000 judgments, each verb in a process of its own.")
    print(f"{ADDITIONS:,} additions in a plain loop take {calibrate():.2f} CPU s here.\n")
    print("| verb | CPU s | goal | peak MB |\n|---|---|---|---|", flush=True)
    missed = []
    for name in (*verbs.ASKING, "gate", "gate --json", "compare", "report html", "baseline diff", "runs show", "show"):
        seconds, megabytes = spawn(verbs.EVERY[name](at))
        goal = GOALS.get(name)
        print(f"| {name} | {seconds:.1f} | {goal or ''} | {megabytes:.0f} |", flush=True)
        if goal is not None and (seconds > goal or megabytes > MEGABYTES):
            missed.append(name)
    print(f"\ngoals missed: {', '.join(missed) or 'none'}")
    return missed


def calibrate() -> float:
    """Return the CPU seconds of a plain loop, so that numbers of machines of different speed can be compared."""
    total, start = 0, time.process_time()
    for number in range(ADDITIONS):
        total += number
    return time.process_time() - start


def spawn(arguments: list[str]) -> tuple[float, float]:
    """Run karat in a new process; return its CPU seconds and its peak memory."""
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.execv(sys.executable, [sys.executable, "-m", "karat", *arguments])
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1, 4):
        raise SystemExit(f"failed: karat {' '.join(arguments)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
