"""The pages of a large project under load: 100 runs of 100,000 queries, and 50 requests a second for a minute.

``./scripts/bench serve`` writes a project, indexes it as the server does, starts ``karat serve``, and asks for every
page, first one request at a time (the CPU time of the server for each page), then at a rate from another process (how
long an answer takes, from the request to its last byte), and last in Chromium (when something is seen). It tells the
time that indexing takes, the size of the answers and the most memory of the server, as soon as each is known: what
fails later, as a browser may, loses nothing, and counts as not kept. ``--indexed`` runs are written and
indexed one by one; the others, up to ``--runs``, are copies of them under other names, also in the index, which no page
can tell. Live traffic has a session for four queries. ``--quick`` takes a hundredth of the queries and six seconds. A
machine that is busy with other work is slower, so that its load is told, too.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from workload import make_project, write_runs, write_traffic

from karat.index import Indexer, open_index

TICKS = os.sysconf("SC_CLK_TCK")
ALONE = 20  # requests for each page when nothing else is asked
LIMITS = {"milliseconds": 150.0, "memory": 500.0, "bytes": 300_000, "paint": 1_000.0}


def say(text: str) -> None:
    print(f"[load {os.getloadavg()[0]:4.1f}] {text}", flush=True)


def prepare(folder: Path, runs: int, indexed: int, queries: int) -> None:
    """Write a project with so many runs, and its index."""
    begin = time.monotonic()
    golden = make_project(folder, queries)
    files = list(write_runs(folder, golden, indexed))
    say(f"wrote {indexed} runs of {queries:,} queries ({files[0].stat().st_size / 1e6:.0f} MB each), "
        f"{time.monotonic() - begin:.0f} s")  # fmt: skip
    command = [
        sys.executable,
        "-m",
        "karat",
        "baseline",
        "update",
        str(files[0]),
        "--golden",
        str(folder),
        "--force",
        "first",
    ]
    subprocess.run(command, check=True, capture_output=True)
    write_traffic(folder, queries // 4)
    say(f"wrote {queries // 4:,} sessions of live traffic")
    index(folder)
    copy_runs(folder, files, runs)


def index(folder: Path) -> None:
    """Bring the index up to date, and tell what that costs."""
    times = [(time.monotonic(), time.process_time())]
    Indexer(folder).update(lambda _: times.append((time.monotonic(), time.process_time())))
    each = [after[1] - before[1] for before, after in pairwise(times[1:])]
    first, mean = times[1][1] - times[0][1], sum(each) / max(len(each), 1)
    say(f"CPU time to index the set and a first run: {first:.1f} s, each further run: {mean:.1f} s")


def copy_runs(folder: Path, files: list[Path], runs: int) -> None:
    """Copy runs and what the index has of them until there are so many."""
    with sqlite3.connect(folder / ".karat" / "index.db") as connection:
        for number in range(len(files), runs):
            source = files[number % len(files)]
            target = source.with_name(f"run-{number:03}.jsonl")
            os.link(source, target)  # with its time and size, so that the index takes it for what it has
            (key, row) = connection.execute("select key, row from run where file = ?", (source.name,)).fetchone()
            cursor = connection.execute(
                "insert into run (id, file, stamp, basis, row, report) "
                "select ?, ?, stamp, basis, ?, report from run where key = ?",
                (target.stem, target.name, row.replace(source.stem, target.stem), key),
            )
            for table, rest in (("block", "number, body"), ("series", "number, body"), ("line", "position, body")):
                connection.execute(
                    f"insert into {table} select ?, {rest} from {table} where run = ?", (cursor.lastrowid, key)
                )
    connection.close()
    say(f"{runs} runs in the index, {(folder / '.karat' / 'index.db').stat().st_size / 1e6:.0f} MB")


def renew(folder: Path, runs: int) -> None:
    """Index a project that is kept anew if its index is of an earlier karat, with the same runs."""
    with open_index(folder) as kept:
        if len(kept.list_runs()) >= runs:
            return
    first: dict[int, Path] = {}
    for file in sorted((folder / "runs").glob("*.jsonl")):
        if first.setdefault(file.stat().st_ino, file) != file:  # a copy
            file.unlink()
    index(folder)
    copy_runs(folder, list(first.values()), runs)


def look(process: int) -> tuple[float, float]:
    """Return the CPU seconds and the most memory so far, in MB, of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (memory,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / TICKS, int(memory) / 1000


def find_indexer(process: int) -> int | None:
    """Return the process that indexes for a server; None if it has none now."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(children[0]) if children else None


def ask(address: str, plan: dict[str, object]) -> dict[str, dict[str, list[float]]]:
    """Let another process ask, and return what it measured, by page."""
    command = [sys.executable, str(Path(__file__).with_name("asking.py")), address]
    answer = subprocess.run(command, input=json.dumps(plan), text=True, stdout=subprocess.PIPE, check=True)
    result: dict[str, dict[str, list[float]]] = json.loads(answer.stdout)
    return result


def share(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def measure(address: str, process: int, runs: int, queries: int, rate: float, seconds: float) -> bool:
    """Print what each page costs, and return whether all stay within the limits."""
    size = {"runs": runs, "queries": queries}
    ask(address, {**size, "each": 2})  # what is computed once
    cost = {}
    for page in ask(address, {**size, "each": 1}):
        before = look(process)[0]
        ask(address, {**size, "each": ALONE, "page": page})
        cost[page] = (look(process)[0] - before) / ALONE * 1000
    say(f"{rate:g} requests a second for {seconds:g} s")
    before, begin = look(process)[0], time.monotonic()
    measured = ask(address, {**size, "rate": rate, "seconds": seconds})
    took, busy, memory = time.monotonic() - begin, look(process)[0] - before, look(process)[1]
    print(f"{'page':<24}{'n':>5}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'CPU ms':>9}{'KB':>7}")
    good = True
    for page, found in measured.items():
        times, bytes_ = [1000 * value for value in found["times"]], max(found["bytes"])
        cells = [share(times, part) for part in (0.5, 0.95, 0.99)]
        good = good and cells[1] < LIMITS["milliseconds"] and bytes_ < LIMITS["bytes"]
        print(
            f"{page:<24}{len(times):>5}"
            + "".join(f"{cell:>9.1f}" for cell in (*cells, cost[page]))
            + f"{bytes_ / 1000:>7.0f}"
        )
    say(f"the server used {busy / took:.2f} of a core, and at most {memory:.0f} MB")
    indexer = find_indexer(process)
    if indexer is not None:
        say(f"the process that indexes, at low priority, used at most {look(indexer)[1]:.0f} MB")
    good = paint(address, runs, queries) and good
    after = look(process)[1]
    say(f"with a browser that opened every page, the server used at most {after:.0f} MB")
    return good and after < LIMITS["memory"]


def paint(address: str, runs: int, queries: int) -> bool:
    """Print when a browser shows the first of each page, and what it loads for that; return whether that is enough."""
    command = [sys.executable, str(Path(__file__).with_name("painting.py")), address, str(runs), str(queries)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as browser:
        assert browser.stdout is not None
        painted = []
        for line in browser.stdout:
            painted.append(json.loads(line))
            print_paint(painted[-1])
    if browser.returncode or not painted:
        say("first paint was not measured, or not of every page")
        return False
    limits = LIMITS["paint"], LIMITS["bytes"]
    return all("why" not in own and own["milliseconds"] < limits[0] and own["bytes"] < limits[1] for own in painted)


def print_paint(own: dict[str, Any]) -> None:
    """Print what a browser says of a page, at once."""
    if "why" in own:
        print(f"{own['page']:<24} first paint was not measured: {own['why']}", flush=True)
    else:
        size = f"{own['bytes'] / 1000:.0f} KB with styles and scripts"
        size += f"; content, which was computed, after {own['content']:.0f} ms" if "content" in own else ""
        print(f"{own['page']:<24} first paint {own['milliseconds']:>6.0f} ms, {size}", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="runs of 1,000 queries, and 6 seconds")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--indexed", type=int, default=10, help="runs that are written and indexed; others are copies")
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=50, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--folder", type=Path, help="keep the project here, and use one that is there")
    options = parser.parse_args()
    if options.quick:
        options.queries, options.indexed, options.seconds = options.queries // 100, 3, 6.0
    with tempfile.TemporaryDirectory() as place:
        folder = options.folder or Path(place) / "project"
        if not folder.exists():
            prepare(folder, options.runs, min(options.indexed, options.runs), options.queries)
        renew(folder, options.runs)
        command = [sys.executable, "-m", "karat", "serve", str(folder), "--port", "0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["address"]
            try:
                good = measure(address, server.pid, options.runs, options.queries, options.rate, options.seconds)
            finally:
                server.terminate()
                server.wait(30)
    sys.exit(0 if good else "slower, larger or with more memory than promised")


if __name__ == "__main__":
    main()
