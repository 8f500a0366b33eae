"""Whether a log works: what it holds, what waits in the journal, and what was lost. Looking changes nothing."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from karat.core import InputError, SystemFailed
from karat.online._drafts import decode_draft
from karat.online._paths import Paths, find_paths
from karat.online._received import RECEIVED, read_received
from karat.online._rollouts import list_rollouts
from karat.online._segment import (
    HEADER,
    LEFT_OUT,
    REMOVED,
    SUFFIX,
    Broken,
    find_frame,
    is_erased,
    lock,
    read_frames,
    read_header,
    strip_zeros,
)
from karat.online._times import find_time, format_time
from karat.schema import (
    OnlineAcknowledgement,
    OnlineDamage,
    OnlineHealth,
    OnlineJournal,
    OnlineRun,
    OnlineSegmentDamage,
    OnlineTable,
)
from karat.store import Store, open_store

_LATE = 900.0  # seconds: nobody who looks at a store, as cron does, needs longer to bring records there


def check_health(path: str | os.PathLike[str] = "karat.db") -> OnlineHealth:
    """Return what a log holds, what waits in its journal, and what was dropped or damaged.

    A store or journal that is there and cannot be read raises :class:`karat.core.SystemFailed`.
    """
    paths = find_paths(path)
    paths.require_log()
    try:
        if not paths.has_store():
            return _check(paths, None, str(path))
        with open_store(paths.store) as store:
            return _check(paths, store, str(path))
    except (InputError, OSError) as error:
        raise SystemFailed(str(error)) from None


def describe_missing(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return notes on records that are not in the numbers of a store: those that wait, and those that were lost."""
    paths = find_paths(path)
    with open_store(paths.store) as store:
        journal, dropped = _look_at_journal(paths, store)
        is_lossy = _is_unseen(dropped, store.acknowledgements.counts())
    waiting, name = journal.waiting, os.fspath(path)
    notes = []
    if waiting:
        wait = (
            "1 record waits in the journal and is"
            if waiting == 1
            else f"{waiting:,} records wait in the journal and are"
        )
        notes.append(f"{wait} not counted here: run karat online ingest {name}")
    if is_lossy:
        notes.append(f"records were lost and are not counted here: karat online health {name} says how many, and why")
    return tuple(notes)


def _look_at_journal(paths: Paths, store: Store | None) -> tuple[OnlineJournal, dict[str, int]]:
    """Return what is in the journal, and how many records were dropped for each reason, as it and the store say."""
    journal, drops = _look(paths, {} if store is None else store.positions())
    return journal, _add_up({**({} if store is None else store.drops()), **drops})


def _is_unseen(dropped: Mapping[str, int], acknowledged: Mapping[str, int]) -> bool:
    """Return whether something was dropped that nobody has acknowledged."""
    return any(count > acknowledged.get(reason, 0) for reason, count in dropped.items())


def _check(paths: Paths, store: Store | None, name: str) -> OnlineHealth:
    journal, dropped = _look_at_journal(paths, store)
    acknowledged = {} if store is None else store.acknowledgements.counts()
    unseen = _is_unseen(dropped, acknowledged)
    removed = dropped.pop(REMOVED, 0)
    left_out = {field: dropped.pop(field) for field in LEFT_OUT if field in dropped}
    damages = () if store is None else tuple(_list_damages(paths, store))
    return OnlineHealth(
        store=name,
        healthy=not (unseen or damages or journal.damages or journal.late),
        bytes=0 if store is None else store.measure(),
        queries=_summarize(store, "queries"),
        events=_summarize(store, "events"),
        journal=journal,
        dropped=dropped,
        removed=removed,
        left_out=left_out,
        damages=damages,
        run=None if store is None else _find_run(store),
        without_session=0 if store is None else store.count_without_session(),
        odd_outcomes=0 if store is None else store.count_odd_outcomes(),
        acknowledged=acknowledged,
        acknowledgements=() if store is None else _list_acknowledgements(store),
        free=_find_free(paths.base),
        received=read_received(paths.base),
        **({} if store is None else list_rollouts(store)),
    )


def _list_damages(paths: Paths, store: Store) -> Iterator[OnlineDamage]:
    """Yield what could not be read, by file and reason. Whoever removes a file has seen what is in it."""
    groups: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for _, file, size, reason, moment in store.damages():
        groups.setdefault((file, reason), []).append((size, moment))
    there = {file for file in {file for file, _ in groups} if (paths.torn / file).exists()}
    for (file, reason), own in groups.items():
        if file in there:
            last = max(moment for _, moment in own)
            size = sum(size for size, _ in own)
            yield OnlineDamage(file=file, bytes=size, reason=reason, time=format_time(last), parts=len(own))


def _find_free(path: Path) -> int | None:
    try:
        return shutil.disk_usage(path.absolute().parent).free
    except OSError:
        return None


def _list_acknowledgements(store: Store) -> tuple[OnlineAcknowledgement, ...]:
    return tuple(
        OnlineAcknowledgement(time=format_time(time), author=author, reason=reason, dropped=dropped)
        for time, author, reason, dropped in store.acknowledgements.all()
    )


def look_for_drops(paths: Paths) -> dict[str, dict[str, int]]:
    """Return how many records the writers of the segments in the journal dropped, by segment and reason."""
    return _look(paths, {})[1]


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
    oldest: list[float] = []
    drops: dict[str, dict[str, int]] = {}
    damages: list[OnlineSegmentDamage] = []
    for path in sorted(paths.journal.glob(f"*{SUFFIX}")):
        if not path.is_file():
            continue
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                segments += 1
                final = lock(descriptor)
                writers += not final
                data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            finally:
                os.close(descriptor)
            size += len(data)
            header = read_header(data[:HEADER])
            if header is not None and header.dropped:
                drops[path.name] = header.dropped
            start = None if header is None else positions.get(path.name, HEADER)
            waiting += _read_segment(path.name, data, start, damages, oldest, final=final)
    lag = max(0.0, time.time() - min(oldest)) if oldest else None
    journal = OnlineJournal(
        segments=segments,
        writers=writers,
        bytes=size,
        waiting=waiting,
        damages=tuple(damages),
        lag=lag,
        late=lag is not None and lag > _LATE,
    )
    return journal, drops


def _read_segment(
    name: str,
    data: bytes,
    position: int | None,
    damages: list[OnlineSegmentDamage],
    oldest: list[float],
    *,
    final: bool,
) -> int:
    """Return how many records a segment has from a position on, and add what an ingester could not read of them.

    The time at which the first of them was written is added to ``oldest``.

    Unless the segment is ``final``, its writer may be at work on what follows the last record: that is no damage.
    """

    def add(start: int, part: bytes, reason: str) -> None:
        if size := len(strip_zeros(part)):
            damages.append(OnlineSegmentDamage(segment=name, position=start, bytes=size, reason=reason))

    if position is None:
        add(0, data, "the header is damaged")
        return 0
    count = 0
    while position < len(data):
        rest, end, reason = data[position:], 0, "the record is not complete"
        try:
            for frame in read_frames(rest):
                if not is_erased(frame.payload):
                    count += 1
                    if count == 1:
                        oldest += _find_written(frame.payload)
                end = frame.end
        except Broken:
            reason = "the checksum is wrong"
        if not end:
            end = find_frame(rest)
            if final or end < len(rest):
                add(position, rest[:end], reason)
        position += end
    return count


def _find_written(payload: bytes) -> list[float]:
    """Return when a record was written, by its id; nothing for one that cannot be read.

    The id of a span that was received has no time: then it is when the span began, which was before.
    """
    try:
        draft = decode_draft(payload)
        return [draft.time if draft.id.startswith(RECEIVED) else find_time(draft.id)]
    except (msgspec.MsgspecError, ValueError):
        return []


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
    (run, kind, moment, _, system, queries, _, outcome), values = latest
    return OnlineRun(
        run=run,
        kind=kind,
        time=format_time(moment),
        system=system,
        queries=queries,
        outcome=outcome,
        measures={measure: value for measure, value, *_ in values},
    )
