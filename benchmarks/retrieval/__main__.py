"""What the built-in pipeline reaches on public collections, through the CLI: ./scripts/bench retrieval [--quick]

Prints nDCG@10 and R@100 for BM25, the dense channel and both fused, with the defaults as shipped, beside what others
computed. A full run embeds 7,274 documents, which takes minutes; --quick runs BM25 only.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
EXPECTED = {
    "scifact": {"lexical": (0.679, 0.913), "dense": (0.712, 0.957), "both": (0.728, 0.980)},
    "attack": {"lexical": (0.476, 0.934)},
    "cranfield": {"lexical": (0.331, 0.731), "dense": (0.384, 0.818), "both": (0.391, 0.805)},
}
CHANNELS = {"lexical": "dense = false", "dense": "lexical = false", "both": ""}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="BM25 only")
    parser.add_argument("sets", nargs="*", default=list(EXPECTED), help="of " + ", ".join(EXPECTED))
    chosen = parser.parse_args()
    if not DATA.is_dir():
        print(f"the public collections are not at {DATA}", file=sys.stderr)
        return 2
    print("| set | channels | nDCG@10 | expected | R@100 | expected | CPU s |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="karat-bench-") as scratch:
        for name in chosen.sets:
            for channels, setting in CHANNELS.items():
                if not (chosen.quick and channels != "lexical"):
                    print(row(Path(scratch) / name, name, channels, setting), flush=True)
    return 0


def row(project: Path, name: str, channels: str, setting: str) -> str:
    project.mkdir(exist_ok=True)
    (project / "karat.toml").write_text(f'[golden]\npath = "{DATA / name}"\n[pipeline]\n{setting}\ndepth = 1000\n')
    command = [sys.executable, "-m", "karat", "eval", str(project), "--json", "--k", "100"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, "-m", "nDCG@10", "-m", "R(rel=1)@100"], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return f"| {name} | {channels} | {done.stderr.decode().strip().splitlines()[-1]} | | | | |"
    means = {key: cell["mean"] for key, cell in json.loads(done.stdout)["runs"][0]["measures"].items()}
    ndcg, recall = means["nDCG@10"], next(value for key, value in means.items() if key.startswith("R"))
    expected = EXPECTED[name].get(channels, ("", ""))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"| {name} | {channels} | {ndcg:.4f} | {expected[0]} | {recall:.4f} | {expected[1]} | {seconds:.1f} |"


if __name__ == "__main__":
    sys.exit(main())
