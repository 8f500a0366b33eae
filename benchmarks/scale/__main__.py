"""Scoring of a run of 1 to 100 million rows: karat here and on Spark, DuckDB, plain Polars; from text and from Parquet.

``./scripts/bench scale`` prints a row for each size, engine and form: CPU seconds and peak memory of all processes
together, and how many values of nDCG@10 differ from karat's by more than 1e-12. ``--rows`` chooses sizes, ``--quick``
takes 20,000 rows and leaves Spark out. Each runs on its own, one after the other. An engine that runs out of memory
has a row that says so. Spark is two executors with a core each, started on this machine and ended with the command.
A second table has reports, harvests and estimates from logs: ``--operation`` chooses some, ``--table`` one of the two.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import logs
import workload

HERE = Path(__file__).resolve().parent
WITH_SPARK = HERE.parents[1] / ".venv" / "bin" / "python"
"""The Python of the tests, which has karat's extra ``spark``."""
SPARK = "local-cluster[2,1,1024]"
ENGINES = ("karat", "Spark", "DuckDB", "Polars")
WORK = HERE.parent / "work" / "scale"
ROWS = (1_000_000, 10_000_000, 100_000_000)
QUICK = 20_000
MOST = 8 * 2**30
"""Bytes of address space that plain Polars may take, which keeps the whole run in memory."""
_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
FORMS = {
    "TREC text": ("qrels.txt", "run.txt"),
    "Parquet": ("qrels.parquet", "run.parquet"),
    "files": ("qrels.parquet", "run"),
}
"""Judgments and run of each form; ``files`` is a folder of Parquet files of which only the first is judged."""


@dataclass(frozen=True)
class Cost:
    """What a tool took, and the value of each query; None if it did not end well."""

    seconds: float
    megabytes: float
    values: dict[str, float] | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help="rows of the run; repeat for more sizes")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} rows")
    parser.add_argument("--table", choices=("runs", "logs"), help="only this")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this; repeat")
    parser.add_argument("--form", action="append", choices=tuple(FORMS), help="only this; repeat")
    parser.add_argument("--operation", action="append", choices=logs.OPERATIONS, help="only this, of logs; repeat")
    options = parser.parse_args()
    sizes = options.rows or ([QUICK] if options.quick else None)
    if options.table != "logs":
        engines = options.engine or [engine for engine in ENGINES if not (options.quick and engine == "Spark")]
        compare_engines(sizes or ROWS, options.form or ("TREC text", "Parquet"), engines)
    if options.table != "runs":
        logs.print_table(sizes or logs.ROWS, options.operation or logs.OPERATIONS)


def compare_engines(sizes: Sequence[int], forms: Sequence[str], engines: Sequence[str]) -> None:
    """Print a row for each number of rows, form and engine."""
    print("| rows of the run | engine | form | CPU s | microseconds a row | peak MB | values unlike karat's |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="karat-scale-") as scratch:
        for rows in sizes:
            expected: dict[str, float] | None = None
            for form in forms:
                folder = (workload.make_folder if form == "files" else workload.make)(WORK, rows)
                for engine in engines:
                    if engine == "Spark" and form == "TREC text":
                        continue
                    cost = measure(engine, [str(folder / name) for name in FORMS[form]], Path(scratch))
                    expected = cost.values if engine == "karat" else expected
                    print(describe(rows, engine, form, cost, expected), flush=True)


def describe(rows: int, engine: str, form: str, cost: Cost, expected: dict[str, float] | None) -> str:
    """Return a row of the table."""
    if cost.values is None:
        return f"| {rows:,} | {engine} | {form} | failed | | {cost.megabytes:,.0f} | |"
    unlike = "" if expected is None else f"{count_unlike(cost.values, expected):,} of {len(expected):,}"
    each = cost.seconds / rows * 1e6
    return f"| {rows:,} | {engine} | {form} | {cost.seconds:.2f} | {each:.2f} | {cost.megabytes:,.0f} | {unlike} |"


def count_unlike(values: dict[str, float], expected: dict[str, float]) -> int:
    """Count the queries that only one of two tools has, or whose values differ."""
    shared = values.keys() & expected.keys()
    return len(values.keys() ^ expected.keys()) + sum(abs(values[query] - expected[query]) > 1e-12 for query in shared)


def measure(engine: str, files: list[str], scratch: Path) -> Cost:
    """Run a tool once on judgments and a run, in a session of its own."""
    output = scratch / "out.json"
    output.unlink(missing_ok=True)
    if engine in ("karat", "Spark"):
        options = ["-m", "nDCG@10", "--per-query", "-o", str(output)]
        python, place = (sys.executable, []) if engine == "karat" else (str(WITH_SPARK), ["--engine", SPARK])
        command = [python, "-m", "karat", "score", *files, *options, *place]
    else:
        command = [sys.executable, str(HERE / "peers.py"), engine.lower(), *files, str(output)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"KARAT_MAX_BYTES": "1T"},  # its limit is for files from elsewhere
        start_new_session=True,
        preexec_fn=limit_memory if engine == "Polars" else None,
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seen, megabytes = watch(process)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(max(seconds, seen), megabytes, None if process.returncode else read_values(output, engine))


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))


def watch(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Wait for a process. Return the CPU seconds of all processes of its session, and the most megabytes they had."""
    seconds: dict[str, float] = {}
    most = 0
    while process.poll() is None:
        processes = read_session(process.pid)
        seconds |= {name: used for name, used, _ in processes}  # what Java started is waited for by nobody here
        most = max(most, sum(size for *_, size in processes))
        time.sleep(0.05)
    return sum(seconds.values()), most / 2**20


def read_session(session: int) -> list[tuple[str, float, int]]:
    """Return the processes of a session: number, CPU seconds and bytes in memory."""
    processes = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[3]) == session:
                seconds = (int(fields[11]) + int(fields[12])) / _TICKS
                processes.append((folder.name, seconds, int(fields[21]) * _PAGE))
    return processes


def read_values(output: Path, engine: str) -> dict[str, float]:
    document = json.loads(output.read_text())
    if engine not in ("karat", "Spark"):
        return document
    rows = document["runs"][0]["queries"]
    return {query: row["nDCG@10"] for query, row in rows.items() if row["nDCG@10"] is not None}


if __name__ == "__main__":
    main()
