"""What ``karat explain`` and ``karat ablate`` cost beside a plain evaluation of the hotel: CPU seconds.

``./scripts/bench explain`` runs each once to fill the caches of chunks, indexes and vectors, then three times in turn,
and takes the least. Explaining all 120 queries with every counterfactual has to take less than three evaluations.
``--cold`` begins with empty caches, and runs each once. ``--quick`` does the same without the dense channel and its
model.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERBS = ("eval", "explain", "ablate")
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


def measure(project: Path, *, cold: bool) -> dict[str, float]:
    """Return the CPU seconds of each verb."""
    if cold:
        os.environ["KARAT_CACHE"] = str(project.parent / "cache")
        return {verb: run(verb, str(project)) for verb in VERBS}
    for verb in VERBS:
        run(verb, str(project))
    rounds = [{verb: run(verb, str(project)) for verb in VERBS} for _ in range(TIMES)]
    return {verb: min(seconds[verb] for seconds in rounds) for verb in VERBS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "hotel"
        shutil.copytree(ROOT / "examples" / "hotel", project, ignore=shutil.ignore_patterns(".karat", "runs"))
        if options.quick:
            config = project / "karat.toml"
            text = config.read_text().replace("dense = true", "dense = false")
            config.write_text(text.replace("neighbours = true", "neighbours = false"))
        cold = options.cold or options.quick
        seconds = measure(project, cold=cold)
    print(f"| {'cold' if cold else 'warm'} caches | CPU s | evaluations |")
    print("|---|---|---|")
    for verb, taken in seconds.items():
        print(f"| karat {verb} | {taken:.2f} | {taken / seconds['eval']:.2f} |")
    print(f"explaining has to take less than {LIMIT} evaluations")


if __name__ == "__main__":
    main()
