"""``karat golden check`` on a large set: CPU seconds and peak memory of the whole command and of its parts.

``./scripts/bench golden`` checks 100,000 documents with 1,000,000 judgments of 20,000 queries, which has to take less
than 180 CPU seconds and 4 GB; ``./scripts/bench golden --quick`` a hundredth of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import stages
import workload

HERE = Path(__file__).resolve().parent
SECONDS, MEGABYTES = 180, 4_000


def run(command: list[str], output: Path) -> tuple[float, float]:
    """Run a process to its end; give its CPU seconds and its peak memory."""
    child = os.fork()
    if child == 0:
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}\n{output.read_text()[-2_000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def parts(measured: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    """Add up the rules that look for no near-duplicates."""
    read, *rules = measured
    near = [stage for stage in rules if stage["stage"] in stages.NEAR_DUPLICATES]
    rest = [stage for stage in rules if stage not in near]
    total = (f"{len(rest)} rules", sum(stage["seconds"] for stage in rest), rest[-1]["megabytes"])
    return [
        ("read", read["seconds"], read["megabytes"]),
        total,
        *((stage["stage"], stage["seconds"], stage["megabytes"]) for stage in near),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of it")
    parser.add_argument("--rules", action="store_true", help="also each rule that takes a second")
    options = parser.parse_args()
    share = 100 if options.quick else 1
    documents, queries, judgments = 100_000 // share, 20_000 // share, 1_000_000 // share
    with tempfile.TemporaryDirectory() as scratch:
        folder, output = Path(scratch) / "set", Path(scratch) / "out.json"
        planted = workload.make(folder, documents, queries, judgments)
        print(f"{documents:,} documents, {queries:,} queries, {judgments:,} judgments\n")
        print("| | CPU s | peak MB |\n|---|---|---|", flush=True)
        seconds, megabytes = run([sys.executable, "-m", "karat", "golden", "check", str(folder), "--json"], output)
        print(f"| karat golden check | {seconds:.1f} | {megabytes:.0f} |", flush=True)
        findings = {finding["rule"]: finding for finding in json.loads(output.read_text())["findings"]}
        run([sys.executable, str(HERE / "stages.py"), str(folder)], output)
        measured = json.loads(output.read_text())
    for name, cost, peak in parts(measured):
        print(f"| - {name} | {cost:.1f} | {peak:.0f} |")
    for stage in measured[1:] if options.rules else ():
        if stage["seconds"] >= 1:
            print(f"| - - {stage['stage']} | {stage['seconds']:.1f} | |")
    count = findings.get("near-duplicate-document", {"count": 0})["count"]
    print(f"\nnear-duplicates: {len(planted):,} pairs planted, {count:,} told")
    kept = seconds < SECONDS and megabytes < MEGABYTES and count >= 0.99 * len(planted)
    print(f"promise (under {SECONDS} CPU s and {MEGABYTES:,} MB, 99 % of the pairs): {'kept' if kept else 'BROKEN'}")
    raise SystemExit(not kept)


if __name__ == "__main__":
    main()
