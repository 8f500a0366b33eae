"""What logging a query costs the host, beside other ways to do it, and what each loses when the host is killed.

``./scripts/bench online`` logs queries with ten hits through karat, a SQLite commit for each, a queue in memory, and
OpenTelemetry's batch processor: one after the other, one a millisecond, and that beside a thread that computes. Then
hosts are killed, and their records counted. ``--quick`` takes a hundredth. The last lines say what karat's ingester
stores for each CPU second. ``--day 1000000`` stores a day of so many queries instead, and reads its statistics.

Times depend on the machine and on what else it does: run it alone, and see the first two rows of each load. One logs
nothing: a loop of ten microseconds, which needs next to no memory. The other encodes the record and copies it into a
map, and does nothing else that a log has to do: what it takes more one a millisecond than one after the other is what
code and data cost that other programs have pushed out of the core's caches. Three columns tell the code from the
machine: what the caller's thread took of the CPU; the times of those calls in which the thread was not pushed out
of its core against its will; and how many were. Waiting for a lock, for the disk or for the interpreter is the tool's
own doing, and counts. What a hypervisor takes away, or a neighbour on the same core slows down, no program can see:
it is in all columns of all rows alike.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TRACING = HERE.parents[1] / ".venv-tracing" / "bin" / "python"
NOISE, LEAST = "nothing", "least"
NAMES = {
    NOISE: "nothing at all (the machine's own noise)",
    LEAST: "the least: encoded, and copied into a map",
    "karat": "karat",
    "sqlite": "SQLite, a commit each",
    "queue": "queue in memory",
    "opentelemetry": "OpenTelemetry, batches",
}
TOOLS = [name for name in NAMES if name not in (NOISE, LEAST)]
LOADS = {"hot": "one after the other", "paced": "one a millisecond", "beside": "beside a busy thread"}
LIMITS = {"hot": 50, "paced": 100, "beside": 150}
"""What karat promises for the 99th percentile, in microseconds."""
KILLS = 10


def command(tool: str, tracing: str, *arguments: object) -> list[str]:
    python = tracing if tool == "opentelemetry" else sys.executable
    return [python, str(HERE / "tools.py"), tool, *map(str, arguments)]


def run(tool: str, tracing: str, *arguments: object) -> Any:
    done = subprocess.run(command(tool, tracing, *arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{tool} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def compare_times(tools: list[str], tracing: str, counts: dict[str, int]) -> None:
    columns = "p50 us | p99 us | p99.9 us | promised p99 | thread's CPU: p50 | p99 | not pushed out: p99 | pushed out"
    print(f"| tool | load | {columns} | CPU us of all |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for load, label in LOADS.items():
        for tool in (NOISE, LEAST, *tools):
            with tempfile.TemporaryDirectory() as folder:
                result = run(tool, tracing, load, counts[load], folder)
            promised = f"{LIMITS[load]}" if tool == "karat" else ""
            cpu = "-" if load == "beside" else f"{result['cpu']:,.0f}"  # the busy thread's time is in it
            print(f"| {NAMES[tool]} | {label} | {format_times(result, promised)} | {cpu} |", flush=True)


def format_times(result: dict[str, Any], promised: str) -> str:
    """Return the cells of what each call took."""
    times, thread, out = result["times"], result["thread"], set(result["pushed_out"])
    left = [value for index, value in enumerate(times) if index not in out]
    cells = [f"{percentile(times, share):,.0f}" for share in (0.5, 0.99, 0.999)]
    cells += [promised, *(f"{percentile(thread, share):,.0f}" for share in (0.5, 0.99))]
    undisturbed = f"{percentile(left, 0.99):,.0f}" if left else "-"  # on a busy machine no call may be left
    return " | ".join([*cells, undisturbed, f"{len(out) / len(times):.2%}"])


def kill(tool: str, tracing: str, folder: str, rng: random.Random) -> tuple[int, int]:
    """Kill a host while it logs; return how many calls had returned, and how many of those records are lost."""
    process = subprocess.Popen(command(tool, tracing, "killed", 0, folder), stderr=subprocess.DEVNULL)
    board = Path(folder, "returned")
    wanted = rng.randrange(50, 400)
    while returned(board) < wanted:
        if process.poll() is not None:
            raise SystemExit(f"{tool} ended by itself")
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    there = set(run(tool, tracing, "read", 0, folder))
    count = returned(board)
    expected = {f"how do I reset the wifi password in room 12, query {number}" for number in range(count)}
    return count, len(expected - there)


def returned(board: Path) -> int:
    data = board.read_bytes() if board.exists() else b""
    return int(struct.unpack("<Q", data)[0]) if len(data) == 8 else 0


def compare_losses(tools: list[str], tracing: str, kills: int) -> None:
    print(f"\n| tool | calls that had returned before {kills} SIGKILLs | lost | share |")
    print("|---|---|---|---|")
    for tool in tools:
        rng, total, lost = random.Random(7), 0, 0
        for _ in range(kills):
            with tempfile.TemporaryDirectory() as folder:
                count, gone = kill(tool, tracing, folder, rng)
            total, lost = total + count, lost + gone
        print(f"| {NAMES[tool]} | {total:,} | {lost:,} | {lost / total:.1%} |", flush=True)


def measure_ingester(count: int) -> None:
    """Print how many records are stored for each CPU second, and what reading them takes."""
    from tools import Karat, make_query

    from karat.online import ingest, read_log

    with tempfile.TemporaryDirectory() as folder:
        tool = Karat(Path(folder))
        for number in range(count):
            tool.log(*make_query(number))
        tool.close()
        begin = time.process_time()
        done = ingest(Path(folder, "karat.db"))
        stored = time.process_time()
        with read_log(Path(folder, "karat.db")) as reader:
            read = sum(1 for _ in reader.queries())
        end = time.process_time()
    assert done.records == read == count
    print(f"\ningested: {count / (stored - begin):,.0f} records a CPU second (promised: 20,000)")
    print(f"read: {count / (end - stored):,.0f} records a CPU second")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=TOOLS, default=TOOLS)
    parser.add_argument("--tracing", default=str(TRACING), help="a Python with opentelemetry-sdk")
    parser.add_argument(
        "--day", type=int, metavar="N", help="only store and read a day of N queries, and one of N / 10"
    )
    options = parser.parse_args()
    if options.day:
        from day import compare_days

        compare_days(options.day)
        return
    share = 100 if options.quick else 1
    compare_times(
        options.only, options.tracing, {"hot": 40_000 // share, "paced": 5000 // share, "beside": 5000 // share}
    )
    compare_losses(options.only, options.tracing, 1 if options.quick else KILLS)
    measure_ingester(100_000 // share)


if __name__ == "__main__":
    main()
