"""Systems to shadow, and what is in the store then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from karat.online import ingest, read_log
from karat.online.shadow import LoggedShadow


def read(path: Path, feature: str = "f") -> list[LoggedShadow]:
    """Return the shadow runs of a store, after ingesting."""
    ingest(path)
    with read_log(path) as reader:
        return list(reader.shadow_runs(feature))


def find(query: str, k: int = 10) -> list[str]:
    return [f"{query}-{rank}" for rank in range(k)]


def find_backwards(query: str, k: int = 10) -> list[str]:
    return find(query, k)[::-1]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is true; ten minutes are a failsafe."""
    event = threading.Event()
    for _ in range(600_000):
        if condition():
            return
        event.wait(0.001)
    raise AssertionError
