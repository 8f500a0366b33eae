"""What ``karat explain`` and ``karat ablate`` cost beside a plain evaluation of the hotel: CPU seconds.

``./scripts/bench explain`` runs each once to fill the caches of chunks, indexes and vectors, then three times, and
takes the least. Explaining all 120 queries with every counterfactual has to take less than three evaluations.
``--quick`` does without the dense channel, and needs no model.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMES = 3
LIMIT = 3


def run(*arguments: str) -> float:
    """Run karat to its end, and return its CPU seconds."""
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        os.execve(sys.executable, [sys.executable, "-m", "karat", *arguments], environment)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"failed: karat {' '.join(arguments)}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "hotel"
        shutil.copytree(ROOT / "examples" / "hotel", project, ignore=shutil.ignore_patterns(".karat", "runs"))
        if quick:
            config = project / "karat.toml"
            config.write_text(
                config.read_text()
                .replace("dense = true", "dense = false")
                .replace("neighbours = true", "neighbours = false")
            )
        seconds = {}
        for verb in ("eval", "explain", "ablate"):
            run(verb, str(project))
            seconds[verb] = min(run(verb, str(project)) for _ in range(TIMES))
    print("| warm caches | CPU s | evaluations |")
    print("|---|---|---|")
    for verb, taken in seconds.items():
        print(f"| karat {verb} | {taken:.2f} | {taken / seconds['eval']:.2f} |")
    print(f"explaining has to take less than {LIMIT} evaluations")


if __name__ == "__main__":
    main()
