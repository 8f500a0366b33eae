"""karat against pytrec_eval, ranx and ir-measures, side by side: CPU seconds, peak memory, and equality of every value.

``./scripts/bench scoring`` runs everything; ``./scripts/bench scoring --quick`` 20 of 6,980 queries, once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import workload

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / "work" / "scoring"
PEERS = ["pytrec_eval", "ranx", "ir_measures"]
MEASURES = ("nDCG@10", "RR@10", "R@100", "P@5", "AP@1000")


@dataclass(frozen=True)
class Cost:
    seconds: float
    megabytes: float
    values: dict[str, dict[str, float]]


def run(command: list[str], output: Path) -> tuple[float, float]:
    """Run a process to its end; give its CPU seconds and its peak memory."""
    child = os.fork()
    if child == 0:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def karat_command(folder: Path, ending: str) -> list[str]:
    options = [word for measure in MEASURES for word in ("-m", measure)]
    files = [str(folder / f"{name}.{ending}") for name in ("qrels", "run")]
    return [sys.executable, "-m", "karat", "score", *files, *options, "--per-query", "--json"]


def measure(name: str, folder: Path, scratch: Path, memory: bool = False) -> Cost:
    """Run one tool once."""
    output = scratch / "out.json"
    if name in ("karat, TREC", "karat, Parquet"):
        seconds, megabytes = run(karat_command(folder, "txt" if name == "karat, TREC" else "parquet"), output)
        queries = json.loads(output.read_text())["runs"][0]["queries"]
        return Cost(seconds, megabytes, {m: {q: row[m] for q, row in queries.items()} for m in MEASURES})
    command = [sys.executable, str(HERE / "tools.py"), name, str(folder), str(output)]
    seconds, megabytes = run(command + (["memory"] if memory else []), scratch / "stdout")
    document = json.loads(output.read_text())
    return Cost(document.get("seconds", seconds), megabytes, document["values"])


def compare(title: str, names: list[str], folder: Path, rounds: int, memory: bool = False) -> None:
    """Run the tools in turn, some rounds, and print the medians with ratios to the first one."""
    print(f"\n## {title}\n")
    print("| tool | CPU s | of karat | peak MB | values unlike pytrec_eval's |")
    print("|---|---|---|---|---|")
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(rounds):
            for name in names:
                costs[name].append(measure(name, folder, Path(scratch), memory))
    reference = costs["pytrec_eval"][0].values
    first = _median([cost.seconds for cost in costs[names[0]]])
    for name in names:
        seconds = _median([cost.seconds for cost in costs[name]])
        megabytes = "" if memory else f"{_median([cost.megabytes for cost in costs[name]]):.0f}"
        unlike = _unlike(costs[name][0].values, reference)
        print(f"| {name} | {seconds:.3f} | {seconds / first:.1f}x | {megabytes} | {unlike} |", flush=True)


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _unlike(values: dict[str, dict[str, float]], reference: dict[str, dict[str, float]]) -> str:
    """Count the values that differ; pytrec_eval's RR has no cut-off, so it is cut at rank 10 first."""
    count = total = 0
    for name, column in reference.items():
        for query, value in column.items():
            expected = value if name != "RR@10" or value >= 0.1 else 0.0
            result = values[name].get(query, 0.0)
            expected, result = (expected, result) if name != "RR@10" else (expected, result if result >= 0.1 else 0.0)
            total += 1
            count += abs(result - expected) > 1e-12
    return f"{count} of {total}"


def growth(queries: int, rounds: int) -> None:
    """Show that cost grows with the rows, and not faster."""
    print("\n## Growth\n\n| rows | CPU s, TREC | microseconds a row | peak MB |\n|---|---|---|---|")
    for size in (queries // 10, queries, queries * 3):
        folder = workload.make(WORK, size, 1_000)
        with tempfile.TemporaryDirectory() as scratch:
            costs = sorted(run(karat_command(folder, "txt"), Path(scratch) / "out") for _ in range(rounds))
        seconds, megabytes = costs[len(costs) // 2]
        rows = size * 1_000
        print(f"| {rows:,} | {seconds:.2f} | {seconds / rows * 1e6:.2f} | {megabytes:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20 queries, one round, ranx and ir-measures once")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rounds, queries = (1, 20) if options.quick else (options.rounds, 6_980)
    small, large = workload.make(WORK, 50, 100), workload.make(WORK, queries, 1_000)
    peers = ["pytrec_eval"] if options.quick else PEERS  # once is enough to see that the others run
    for name in [] if options.quick else ["karat, TREC", "karat, Parquet", *peers]:
        measure(name, small, WORK)  # compiles, and keeps what it compiled
    compare(f"Whole process, {queries} x 1000", ["karat, TREC", "karat, Parquet", *PEERS], large, rounds)
    ours = ["karat_prepared", "karat_frames", "karat_dicts"]
    compare(f"In memory, {queries} x 1000", [*ours, *peers], large, rounds, memory=True)
    compare("Whole process, 50 x 100", ["karat, TREC", *peers], small, 1 if options.quick else 7)
    growth(queries, rounds)
    with tempfile.TemporaryDirectory() as scratch:
        starts = [
            run([sys.executable, "-m", "karat", "--help"], Path(scratch) / "out")[0]
            for _ in range(1 if options.quick else 5)
        ]
    print(f"\n`karat --help`: {_median(starts):.3f} CPU s")


if __name__ == "__main__":
    main()
