"""How often each preset policy is wrong on real judged data: false alarms and misses, in the tables of docs/gate.md.

``./scripts/bench calibration`` resamples runs of BM25 on Cranfield and SciFact at 30, 50, 100 and 300 queries: worlds
in which nothing changed, one in six queries was lost, or the system became worse. ``--quick`` draws 50 runs instead of
2,000. The data are those of the tests (docs/public-data.md); tests/calibration compares the tables with its own runs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "calibration")]

from judged import (  # noqa: E402 (found by the line above)
    COLLECTIONS,
    SIZES,
    compute_rates,
    format_table,
    list_policies,
    list_unknown,
    read_collection,
)

from public_data import DATA, FILES  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="50 runs instead of 2,000")
    runs = 50 if parser.parse_args().quick else 2_000
    print(f"{runs:,} runs each: % of them at {' / '.join(map(str, SIZES))} queries")
    policies = list_policies()
    for name in COLLECTIONS:
        if not (DATA / FILES[name]).exists():
            print(f"{name} is missing; set KARAT_DATA, docs/public-data.md says where to get it", file=sys.stderr)
            continue
        collection = read_collection(DATA / name)
        print(f"\n{name}\n\n{format_table(name, compute_rates(collection, policies, SIZES, runs=runs))}", flush=True)
    for name in policies:
        if unknown := list_unknown(name):
            print(f"\nnot evaluated in {name}: {', '.join(unknown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
