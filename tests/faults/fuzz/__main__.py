"""Look for cases that break a promise, with atheris: ``python -m faults.fuzz readers --seconds 3600``.

The corpus, the cases that reached something new, is kept in ``.fuzz/TARGET`` and is the beginning of the next run. A
case that broke a promise is kept in ``.fuzz/findings``: mend what it shows, and move it to ``tests/faults/fuzz/kept``.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import atheris

from faults.fuzz.cases import Case, read_kept
from faults.fuzz.checking import TooSlow, check
from faults.fuzz.mutations import mutate

TARGETS = ("readers", "parsers", "renderers")
LONGEST = 1 << 16  # bytes of a case
MEMORY = 2048  # megabytes of the process
OURS = str(Path(__file__).parents[3])


def main() -> None:
    """Run one target."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"))
    parser.add_argument("--case", type=Path, help="check one case that was found, and show what it breaks")
    options = parser.parse_args()
    if options.case is not None:
        check(import_module(f"faults.fuzz.{options.target}"), options.case.read_bytes())
        return
    with atheris.instrument_imports(include=["karat"]):
        target = import_module(f"faults.fuzz.{options.target}")
        seeds = [*target.make_seeds(), *read_kept(options.target)]
        for case in seeds:  # many modules are imported when they are first used
            check(target, case.encode())
    warnings.simplefilter("error", RuntimeWarning)  # NumPy warns where numbers overflow
    corpus, findings = options.folder / options.target, options.folder / "findings"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for case in seeds:
        data = case.encode()
        (corpus / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    arguments = [
        sys.argv[0], str(corpus), f"-max_total_time={options.seconds}", f"-max_len={LONGEST}", "-timeout=600",
        "-report_slow_units=600", f"-rss_limit_mb={MEMORY}", f"-artifact_prefix={findings}/{options.target}-",
        "-print_final_stats=1",
    ]  # fmt: skip
    atheris.Setup(arguments, Findings(target, findings / options.target), custom_mutator=make_mutator(target))
    atheris.Fuzz()


class Findings:
    """Checks cases, and keeps one for each place that fails, so that a run does not end with the first."""

    def __init__(self, target: ModuleType, prefix: Path) -> None:
        self._target, self._prefix = target, prefix
        self._places: set[str] = set()

    def __call__(self, data: bytes) -> None:
        """Check a case. What is not an exception of Python, such as a crash of a library, ends the run."""
        try:
            check(self._target, data)
        except (Exception, TooSlow) as error:
            frames = [frame for frame in traceback.extract_tb(error.__traceback__) if OURS in frame.filename]
            place = "-".join([type(error).__name__, Path(frames[-1].filename).stem, str(frames[-1].lineno)])
            if isinstance(error, AssertionError):  # one line of a target may state several promises
                place += "-" + "".join(character for character in str(error)[:20] if character.isalnum())
            if place not in self._places:
                self._places.add(place)
                Path(f"{self._prefix}-{place}").write_bytes(data)
                traceback.print_exc()


def make_mutator(target: ModuleType) -> Callable[[bytes, int, int], bytes]:
    """Return the function by which libFuzzer changes a case: ours, with its own for the bytes of a file."""

    def change(data: bytes, rng: random.Random) -> bytes:
        return bytes(atheris.Mutate(data, len(data) + 64))

    def mutate_bytes(data: bytes, max_size: int, seed: int) -> bytes:
        case = mutate(Case.decode(data), random.Random(seed), change, tuple(target.KINDS))
        return case.encode()[:max_size]

    return mutate_bytes


if __name__ == "__main__":
    main()
