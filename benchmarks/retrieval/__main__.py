"""What the built-in pipeline reaches on public collections, through the CLI: ./scripts/bench retrieval [--quick]

Prints nDCG@10 and R@100 for BM25, the dense channel and both fused, beside what others computed without karat, and for
the pipeline as shipped. A full run embeds 8,098 chunks, which takes about ten CPU minutes, and keeps them in
benchmarks/work/retrieval; --quick runs BM25 only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from karat import golden

DATA = Path(os.environ.get("KARAT_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
WORK = Path(__file__).resolve().parents[1] / "work" / "retrieval"
EXPECTED = {
    "scifact": {"lexical": (0.679, 0.913), "dense": (0.712, 0.957), "both": (0.728, 0.980)},
    "cranfield": {"lexical": (0.331, 0.731), "dense": (0.384, 0.818), "both": (0.391, 0.805)},
    "attack": {"lexical": (0.476, 0.934)},
}
CHANNELS = {
    "lexical": "dense = false",
    "dense": "lexical = false",
    "both": 'fusion = { method = "rrf" }',
    "default": "",
    "neighbours": "neighbours = true",
}
NAMES = {
    "lexical": "BM25",
    "dense": "granite",
    "both": "RRF of both",
    "default": "both by scores (the default)",
    "neighbours": "both by scores, with neighbours",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="BM25 only")
    parser.add_argument("sets", nargs="*", default=list(EXPECTED), help="of " + ", ".join(EXPECTED))
    chosen = parser.parse_args()
    if not DATA.is_dir():
        print(f"no public collections at {DATA}: set KARAT_DATA, see docs/public-data.md", file=sys.stderr)
        return 2
    print("| set | channels | nDCG@10 | without karat | R@100 | without karat |")
    print("|---|---|---|---|---|---|")
    missed = 0
    for name in chosen.sets:
        for channels in ("lexical",) if chosen.quick else tuple(CHANNELS):
            missed += not row(name, channels)
    return 1 if missed else 0


def row(name: str, channels: str) -> bool:
    """Print one line, and say whether it is within 0.01 of what others computed."""
    command = [sys.executable, "-m", "karat", "eval", str(project(name, channels)), "--k", "100", "--json"]
    command += ["-m", "nDCG@10", "-m", "R(rel=1)@100"]
    process = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    means = [cell["mean"] for cell in json.loads(process.stdout)["runs"][0]["measures"].values()]
    pairs = list(zip(means, EXPECTED[name].get(channels, (None, None)), strict=True))
    cells = [f"{value:.4f} | {wanted or ''}" for value, wanted in pairs]
    print(f"| {name} | {NAMES[channels]} | {' | '.join(cells)} |", flush=True)
    return all(wanted is None or abs(value - wanted) <= 0.01 for value, wanted in pairs)


def project(name: str, channels: str) -> Path:
    """Make a folder with a configuration; all channels of a set share it, and so the embeddings."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    path = as_others_read_it(folder) if name == "cranfield" else DATA / name
    (folder / "karat.toml").write_text(f'[golden]\npath = "{path}"\n[pipeline]\n{CHANNELS[channels]}\n')
    return folder


def as_others_read_it(folder: Path) -> Path:
    """Write Cranfield with the grades of its files as they stand (1 to 4, and -1), which karat turns round.

    The numbers of others were computed so: README.md of the data says why neither reading is a headline.
    """
    target = folder / "set"
    if not target.exists():
        golden_set = golden.read(DATA / "cranfield")
        judgments = tuple(
            replace(judgment, grade=5 - judgment.grade if judgment.grade else 0) for judgment in golden_set.judgments
        )
        golden.write(replace(golden_set, judgments=judgments), target)
    return target


if __name__ == "__main__":
    sys.exit(main())
