"""A day of traffic: what it costs to store it, and to read its statistics. ``python -m`` of the folder runs it.

Each step is a process of its own, ``day.py STEP N FOLDER``, which prints its CPU seconds and the most memory it had.
"""

from __future__ import annotations

import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools import CHANNELS, HITS, STAGES, WEIGHTS

SECONDS = 86_400
START = 20_000 * SECONDS
STEPS = ("write", "ingest", "health", "report", "harvest", "report --whole", "harvest --whole")
WHOLE_LIMIT = 200_000
"""Queries of which all sessions are looked at, too; more would not fit into the memory of a small machine."""


def write(store: Path, count: int) -> None:
    """Log queries over a day: five a session, a hundred sessions at once, texts of which few are asked often."""
    from karat import online

    rng = random.Random(1)
    with online.open(store, system="bench") as log:
        for number in range(count):
            moment = START + number * SECONDS / count
            session = f"s{number // 500 * 100 + number % 100}"
            text = f"how do I reset the {rng.choice(WORDS)} of room {int(count / 20 * rng.random() ** 3)}"
            empty = rng.random() < 0.05
            query = log.record(
                text, [] if empty else HITS, session=session, intent=rng.choice(("fix", "find")), time=moment,
                latency=rng.expovariate(0.02), channels=CHANNELS, stages=STAGES, weights=WEIGHTS,
            )  # fmt: skip
            if not empty and rng.random() < 0.5:
                log.feedback("read_after_search", session, "document-1", query=query, rank=2, time=moment + 5)


WORDS = ("wifi password", "safe", "heating", "television", "minibar", "shower")


def run_step(step: str, store: Path, count: int) -> dict[str, Any]:
    """Do a step; return its CPU seconds, its peak of memory in MB, and the seconds that it took."""
    from karat.feedback import harvest_log, report_log
    from karat.online import check_health, ingest

    steps: dict[str, Callable[[], Any]] = {
        "write": lambda: write(store, count),
        "ingest": lambda: ingest(store),
        "health": lambda: check_health(store),
        "report": lambda: report_log(store),
        "harvest": lambda: harvest_log(store),
        "report --whole": lambda: report_log(store, most=None),
        "harvest --whole": lambda: harvest_log(store, most=None),
    }
    cpu, wall = time.process_time(), time.perf_counter()
    steps[step]()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu, "wall": wall, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def measure(count: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return what each step took on a day of so many queries."""
    results = {}
    for step in STEPS:
        if "--whole" in step and count > WHOLE_LIMIT:
            continue
        done = subprocess.run(
            [sys.executable, __file__, step, str(count), str(folder)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{step} failed:\n{done.stderr}")
        results[step] = json.loads(done.stdout)
    return results


def compare_days(count: int) -> None:
    """Print what a day of so many queries costs, beside one of a tenth."""
    results = []
    for queries in (count // 10, count):
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(queries, Path(folder)))
            size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / 1e6
    print(
        f"\na day of {count:,} queries ({size:,.0f} MB), beside one of {count // 10:,}; seconds of CPU, MB at the peak"
    )
    print("| step | CPU s | MB | CPU s of a tenth | MB | grows with the power |")
    print("|---|---|---|---|---|---|")
    small, large = results
    for step, one in small.items():
        other = large.get(step)
        if other is None:
            print(f"| {step} | - | - | {one['cpu']:,.2f} | {one['memory']:,.0f} | - |")
            continue
        power = math.log10(max(other["cpu"], 1e-3) / max(one["cpu"], 1e-3))
        print(
            f"| {step} | {other['cpu']:,.2f} | {other['memory']:,.0f} | {one['cpu']:,.2f} | {one['memory']:,.0f} "
            f"| {power:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    print(json.dumps(run_step(sys.argv[1], Path(sys.argv[3], "karat.db"), int(sys.argv[2]))))
