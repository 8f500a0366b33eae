"""``karat eval`` as a whole: seconds, CPU seconds and peak memory, first and on warm caches; and karat's own cost.

``./scripts/bench eval`` runs examples/hotel with both channels, SciFact and 100,000 varied documents by words alone
(embedding those takes minutes and hours; ``./scripts/bench retrieval`` has SciFact's dense numbers), then asks a
retriever that does nothing. ``--quick`` takes 200 documents instead, the hotel by words, and leaves SciFact out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "golden"))

import workload  # noqa: E402 (the golden benchmark's documents: varied, with near-duplicates, no filler)

SCIFACT = Path(os.environ.get("KARAT_DATA") or ROOT.parent / "shared" / "data") / "scifact"
MICROSECONDS, SOONER = 50, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200 documents, the hotel by words, no SciFact")
    quick = parser.parse_args().quick
    documents, queries = (200, 100) if quick else (100_000, 1_000)
    with tempfile.TemporaryDirectory(prefix="karat-bench-") as scratch:
        folder = Path(scratch)
        workload.make(folder / "varied", documents, queries, 10 * queries)
        print("| | first: s | CPU s | peak MB | again: s | CPU s | peak MB | sooner (CPU) |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        channels = ("by words", "dense = false") if quick else ("both channels", "dense = true")
        sooner = row(folder, f"hotel, {channels[0]}", ROOT / "examples" / "hotel", channels[1])
        if not quick and SCIFACT.is_dir():
            row(folder, "SciFact, by words", SCIFACT, "dense = false")
        elif not quick:
            print(f"no SciFact at {SCIFACT}: set KARAT_DATA, see docs/public-data.md", file=sys.stderr)
        row(folder, f"{documents:,} varied documents, by words", folder / "varied", "dense = false")
    inline, limited = (own_cost(limit, 1_000 if quick else 20_000) for limit in (None, 60.0))
    print(f"\nkarat's own cost: {inline:.1f} µs a query, {limited:.1f} µs with a time limit")
    if not quick:  # without embeddings there is little to keep
        kept = sooner >= SOONER and max(inline, limited) < MICROSECONDS
        print(f"promise (hotel {SOONER}x sooner again, under {MICROSECONDS} µs): {'kept' if kept else 'BROKEN'}")
        raise SystemExit(not kept)


def row(scratch: Path, name: str, golden: Path, pipeline: str) -> float:
    """Evaluate twice in a fresh folder; print what both took, and give the ratio of their CPU seconds."""
    project = Path(tempfile.mkdtemp(dir=scratch))
    (project / "karat.toml").write_text(f'[golden]\npath = "{golden}"\n[pipeline]\n{pipeline}\n')
    measured = [run([sys.executable, "-m", "karat", "eval", str(project), "--json"]) for _ in range(2)]
    ratio = measured[0][1] / measured[1][1]
    cells = " | ".join(f"{seconds:.1f} | {cpu:.1f} | {peak:.0f}" for seconds, cpu, peak in measured)
    print(f"| {name} | {cells} | {ratio:.1f}x |", flush=True)
    return ratio


def run(command: list[str]) -> tuple[float, float, float]:
    """Run a process to its end; give seconds, CPU seconds and its peak memory."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"failed with {child.returncode}: {' '.join(command)}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def own_cost(timeout: float | None, count: int) -> float:
    """Return the microseconds of CPU time per query that karat adds to a retriever that does nothing."""
    from karat.core import Document, GoldenSet, Judgment, Query, Target
    from karat.runs import Settings, make_run

    golden = GoldenSet(
        documents=(Document(id="d", text="text"),),
        queries=tuple(Query(id=f"q{i}", text=f"question {i}") for i in range(count)),
        judgments=(Judgment(query="q0", target=Target(document="d"), grade=3),),
    )
    hits = ("d",)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        make_run(golden, lambda _, __: hits, Settings(timeout=timeout))
        best = min(best, time.process_time() - start)
    return best / count * 1e6


if __name__ == "__main__":
    main()
