"""What it costs to ask for a flag, beside a look into a dict and the provider of the OpenFeature SDK that is in memory.

``./scripts/bench flags`` asks for sessions that are seen for the first time, and again, in CPU time of the caller's
thread: the least of many short rounds, in which all take turns, so that one is found during which the machine did
nothing else. Promised are 5 microseconds, also the first time. ``--quick`` takes a twentieth.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

from karat.online.flags import LiveFlags, change_flag, find_bucket
from karat.online.openfeature import KaratProvider

PROMISED = 5
"""Microseconds."""
UNITS = 100
"""Sessions of a round: a millisecond or less, in which a busy machine may leave a thread alone."""
Ask = Callable[[str], object]


def measure(ask: Ask, units: Sequence[str]) -> float:
    """Return the microseconds of CPU time that one question takes."""
    start = time.thread_time()
    for unit in units:
        ask(unit)
    return (time.thread_time() - start) / len(units) * 1e6


def make_asks(flags: LiveFlags) -> dict[str, Ask]:
    """Return what is measured, by name."""
    api.set_provider_and_wait(KaratProvider(flags), "karat")
    memory = {"rerank": InMemoryFlag("on", {"on": True, "off": False})}
    api.set_provider_and_wait(InMemoryProvider(memory), "memory")
    karat, other = api.get_client("karat"), api.get_client("memory")
    known = {"rerank": "treatment"}
    return {
        "a look into a dict": lambda _: known["rerank"],
        "karat": lambda unit: flags.assign("rerank", unit),
        "OpenFeature, its provider in memory, no targeting": lambda unit: other.get_boolean_value(
            "rerank", default_value=False, evaluation_context=EvaluationContext(targeting_key=unit)
        ),
        "OpenFeature, karat's provider": lambda unit: karat.get_boolean_value(
            "rerank", default_value=False, evaluation_context=EvaluationContext(targeting_key=unit)
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="take a twentieth")
    rounds = 20 if parser.parse_args().quick else 400
    rng = Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "karat.db")
        change_flag(path, "rerank", {"percent": 50}, author="bench", reason="bench")
        with LiveFlags(path, every=1000) as flags:
            asks = make_asks(flags)
            best: dict[tuple[str, str], float] = {}
            for _ in range(rounds):
                units = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(UNITS)]
                for name, ask in asks.items():
                    find_bucket.cache_clear()
                    for when in ("first", "again"):
                        took = measure(ask, units)
                        best[name, when] = min(took, best.get((name, when), took))
    print(f"microseconds of CPU time a question, {rounds} rounds of {UNITS} sessions with ids of 36 letters")
    print(f"{'':<52}{'first':>8}{'again':>8}")
    for name in asks:
        print(f"{name:<52}{best[name, 'first']:8.2f}{best[name, 'again']:8.2f}")
    print(f"karat, the first time: {'below' if best['karat', 'first'] < PROMISED else 'NOT below'} {PROMISED}")


if __name__ == "__main__":
    main()
