"""Whether a log works: what it holds, what waits in the journal, and what was lost. Looking changes nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from karat.core import InputError
from karat.online._paths import Paths
from karat.online._segment import HEADER, SUFFIX, Broken, lock, read_frames, read_header
from karat.online._times import format_time
from karat.schema import OnlineDamage, OnlineHealth, OnlineJournal, OnlineRun, OnlineTable
from karat.store import Store, open_store


def check_health(path: str | os.PathLike[str] = "karat.db") -> OnlineHealth:
    """Return what a log holds, what waits in its journal, and what was dropped or damaged."""
    paths = Paths(Path(path))
    if paths.store.exists():
        with open_store(paths.store) as store:
            return _check(paths, store, str(path))
    if not paths.journal.is_dir():
        raise InputError("no such log", source=str(path), hint="karat.online.open makes one, in the host")
    return _check(paths, None, str(path))


def _check(paths: Paths, store: Store | None, name: str) -> OnlineHealth:
    journal, drops = _look(paths, {} if store is None else store.positions())
    dropped = _add_up({**({} if store is None else store.drops()), **drops})
    damages = tuple(
        OnlineDamage(file=file, bytes=size, reason=reason, time=format_time(time))
        for _, file, size, reason, time in ([] if store is None else store.damages())
    )
    return OnlineHealth(
        store=name,
        healthy=not dropped and not damages,
        bytes=0 if store is None else paths.store.stat().st_size,
        queries=_summarize(store, "queries"),
        events=_summarize(store, "events"),
        journal=journal,
        dropped=dropped,
        damages=damages,
        run=None if store is None else _find_run(store),
    )


def _add_up(drops: dict[str, dict[str, int]]) -> dict[str, int]:
    """Return how many records were dropped by reason, from the counts of each segment."""
    total: dict[str, int] = {}
    for counts in drops.values():
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
    return dict(sorted(total.items()))


def _look(paths: Paths, positions: dict[str, int]) -> tuple[OnlineJournal, dict[str, dict[str, int]]]:
    """Return what is in the journal, and how many records the writers of its segments dropped."""
    segments = writers = size = waiting = 0
    drops: dict[str, dict[str, int]] = {}
    for path in sorted(paths.journal.glob(f"*{SUFFIX}")):
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                segments += 1
                writers += not lock(descriptor)
                size += os.fstat(descriptor).st_size
                header = read_header(os.pread(descriptor, HEADER, 0))
                if header is not None and header.dropped:
                    drops[path.name] = header.dropped
                waiting += _count_frames(descriptor, positions.get(path.name, HEADER))
            finally:
                os.close(descriptor)
    return OnlineJournal(segments=segments, writers=writers, bytes=size, waiting=waiting), drops


def _count_frames(descriptor: int, position: int) -> int:
    count = 0
    with suppress(Broken):
        for _ in read_frames(os.pread(descriptor, os.fstat(descriptor).st_size, position)):
            count += 1
    return count


def _summarize(store: Store | None, table: str) -> OnlineTable:
    rows, first, last = (0, None, None) if store is None else store.summary(table)
    return OnlineTable(
        rows=rows,
        first=None if first is None else format_time(first),
        last=None if last is None else format_time(last),
    )


def _find_run(store: Store) -> OnlineRun | None:
    latest = store.latest_run()
    if latest is None:
        return None
    (run, kind, time, _, system, queries, _, outcome), values = latest
    return OnlineRun(
        run=run,
        kind=kind,
        time=format_time(time),
        system=system,
        queries=queries,
        outcome=outcome,
        measures={measure: value for measure, value, *_ in values},
    )
