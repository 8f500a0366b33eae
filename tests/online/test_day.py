"""A day of a host and its ingester, in simulated time."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest

from karat import online
from karat.online import check_health, ingest
from karat.online._paths import find_paths

MINUTES = 24 * 60


@pytest.mark.slow
def test_a_day_does_not_grow_memory_or_the_journal(tmp_path: Path) -> None:
    """A host logs through 24 hours, and is ingested every hour: neither memory nor segments pile up."""
    path = tmp_path / "karat.db"
    log = online.open(path, segment_bytes=1 << 14)
    sizes = []
    tracemalloc.start()
    for minute in range(MINUTES):
        for number in range(2):
            query = log.record(f"query {minute} {number}", ["a", "b"], session=f"s{minute}", time=60.0 * minute)
            log.feedback("read_after_search", f"s{minute}", "a", query=query, time=60.0 * minute + 1)
        if minute % 60 == 59:
            ingest(path)
            assert len(list(find_paths(path).journal.glob("*.seg"))) <= 2
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    log.close()
    ingest(path)
    health = check_health(path)
    assert (health.queries.rows, health.events.rows, health.healthy) == (2 * MINUTES, 2 * MINUTES, True)
    assert max(sizes[-4:]) - min(sizes[4:8]) < 50_000, "bytes, between the morning and the evening"
