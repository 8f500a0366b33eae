"""How often each preset policy is wrong on real judged data: false alarms and misses, in a table.

``./scripts/bench calibration`` resamples runs of BM25 on Cranfield and SciFact at 30, 50, 100 and 300 queries: worlds
in which nothing changed, one in six queries was lost, or the system became worse. ``--quick`` draws 50 runs instead of
500. The data are those of the tests (docs/public-data.md); tests/calibration asserts a part of the table.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "calibration")]

from judged import MEASURES, SIZES, WORLDS, rates, read_collection  # noqa: E402 (found by the line above)

from karat.gate import named_policy  # noqa: E402
from public_data import DATA, FILES  # noqa: E402

POLICIES = ("default", "threshold", "fit", "rig", "beluga")
"""The presets that decide on retrieval alone; the others need numbers of judges of answers."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 runs instead of 500")
    runs = 50 if parser.parse_args().quick else 500
    print(f"{runs} runs each: fail / inconclusive / pass in %")
    print(f"{'collection':11} {'policy':10} {'queries':>7}  " + "  ".join(f"{world:>16}" for world in WORLDS))
    for name in ("cranfield", "scifact"):
        if not (DATA / FILES[name]).exists():
            print(f"{name} is missing; set KARAT_DATA, docs/public-data.md says where to get it", file=sys.stderr)
            continue
        collection = read_collection(DATA / name)
        for policy in POLICIES:
            for n in SIZES:
                cells = []
                for world in WORLDS:
                    counts = rates(collection, named_policy(policy, MEASURES), world, n, runs=runs)
                    shares = (100 * counts[outcome] / runs for outcome in ("fail", "inconclusive", "pass"))
                    cells.append(" / ".join(f"{share:4.1f}" if share < 100 else " 100" for share in shares))
                print(f"{name:11} {policy:10} {n:7}  " + "  ".join(f"{cell:>16}" for cell in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
