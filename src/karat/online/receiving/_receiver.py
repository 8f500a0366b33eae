"""Spans on their way into the log: taken, kept until their trace is complete, joined, and written to the journal.

A span is in the buffer on the disk before its sender is told that it was accepted. A trace is written when nothing of
it has come for a while. Whoever is killed, and whenever: what was begun is written again under the same ids.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from karat.core import SystemFailed, UsageError
from karat.online._drafts import EventDraft, QueryDraft, encode_draft
from karat.online._journal import Journal
from karat.online._paths import find_paths
from karat.online._privacy import Redaction, find_key, make_redaction, note_key
from karat.online._segment import LARGEST, SUFFIX
from karat.online.receiving._joining import Joined, join_trace
from karat.online.receiving._taking import EVENT, Refused, Row, Taker
from karat.store import WRITING, WRITTEN, Waits, open_span_buffer
from karat.traces.spans import Batch, Entry, Span

SETTLE, PATIENCE = 5.0, 120.0
_LONGEST = 5  # times the patience: a trace that never ends is written piece by piece
_MOST_WAITING = 200_000  # spans; then the oldest traces are written as they are
_MOST_WRITTEN = 200_000  # spans that are known to be written
_MOST_JOURNAL = 512 << 20  # bytes that wait for an ingester
_MOST_BUFFER = 1 << 30  # bytes of spans
_LARGEST_TRACE = 32 << 20  # bytes of spans that are joined at once
_AT_ONCE = 200  # traces of one transaction
_LEAST_FREE = 32 << 20  # bytes of the disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """What became of a request."""

    accepted: int
    """Spans or log records."""
    rejected: int = 0
    problem: str = ""
    """Why the first of those was rejected."""


class Overloaded(Exception):
    """There is no room now; the sender may try again."""


class Receiver:
    """Takes spans for the log beside a store, until it is closed.

    A trace is written ``settle`` seconds after its latest span if its first one has come, else after ``patience``.
    The other settings are those of :func:`karat.online.open`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = "karat.db",
        *,
        settle: float = SETTLE,
        patience: float = PATIENCE,
        redact: bool | Mapping[str, str] | Redaction = True,
        keep_ids: bool = False,
        key: str | None = None,
        most_waiting: int = _MOST_WAITING,
        most_journal: int = _MOST_JOURNAL,
    ) -> None:
        if not 0 <= settle <= patience:
            raise UsageError(
                f"settle={settle!r} and patience={patience!r} must be seconds, and patience at least settle"
            )
        self._paths, self._waits = find_paths(path), Waits(settle, patience, _LONGEST * patience)
        self._most_waiting, self._most_journal = most_waiting, most_journal
        self._paths.journal.mkdir(mode=0o700, parents=True, exist_ok=True)
        hash_key = None if keep_ids else find_key(self._paths.key, key)
        if hash_key is not None:
            note_key(self._paths.key_checks, hash_key)
        self._taker = Taker(self._paths, None if redact is False else make_redaction(redact), hash_key)
        buffer = open_span_buffer(self._paths.base, write=True)
        assert buffer is not None
        self._buffer, self._journal = buffer, Journal(self._paths.journal)
        self._lock = threading.Lock()
        self._pending: Counter[str] = Counter()
        self._waiting = buffer.waiting()[0]
        self._full = ""

    def accept(self, batch: Batch) -> Accepted:
        """Take the spans and log records of a request; all that is accepted is on the disk when this returns.

        Raise :class:`Overloaded` if there is no room now, and :class:`karat.core.SystemFailed` if the disk fails.
        """
        if self._full:
            raise Overloaded(self._full)
        with self._lock:
            rows, problems = self._take(batch)
            counts = self._taker.counts
            self._taker.counts = Counter()
            now = time.time()
            with self._buffer.transaction():
                new = self._buffer.add(rows)
                counts.update(accepted=len(batch.spans) + len(batch.entries) - len(problems), repeated=len(rows) - new)
                counts["refused.span"] += len(problems) + len(batch.problems)
                self._buffer.expect(_find_roots(rows), now, self._waits)
                self._buffer.count(+counts)
            self._waiting += new
        problems = [*batch.problems, *problems]
        return Accepted(accepted=counts["accepted"], rejected=len(problems), problem=next(iter(problems), ""))

    def _take(self, batch: Batch) -> tuple[list[Row], list[str]]:
        rows: list[Row] = []
        problems: list[str] = []
        values: tuple[Span | Entry, ...] = (*batch.spans, *batch.entries)
        for value in values:
            try:
                rows += self._taker.take_entry(value) if isinstance(value, Entry) else self._taker.take(value)
            except Refused as refusal:
                problems.append(str(refusal))
        return rows, problems

    def count(self, name: str) -> None:
        """Count a request that was refused or ignored."""
        with self._lock:
            self._pending[name] += 1

    def settle(self, *, everything: bool = False) -> int:
        """Write the traces that are due, or all of them; return how many records those became."""
        with self._lock:
            self._measure()
            with self._buffer.transaction():
                self._buffer.count(self._pending)
                if everything:
                    self._buffer.hasten()
                elif self._waiting > self._most_waiting:
                    self._buffer.count({"early": self._buffer.hasten(_AT_ONCE)})
            self._pending.clear()
        total = 0
        while True:
            with self._lock:
                if not (traces := self._begin()):
                    break
                total += self._write(traces)
        with self._lock, self._buffer.transaction():
            self._buffer.trim(_MOST_WRITTEN)
        return total

    def _measure(self) -> None:
        """Find out whether there is room for more."""
        journal = sum(_size(path) for path in self._paths.journal.glob(f"*{SUFFIX}"))
        self._waiting = self._buffer.waiting()[0]
        status = os.statvfs(self._buffer.path)
        self._full = ""
        if status.f_bavail * status.f_frsize < _LEAST_FREE:
            self._full = "the disk is nearly full"
        elif journal > self._most_journal:
            self._full = "the journal is full: is an ingester at work?"
        elif self._buffer.measure() > _MOST_BUFFER:
            self._full = "the buffer is full: too much waits for the rest of its traces"
        elif self._waiting > 2 * self._most_waiting:
            self._full = "too many spans wait for the rest of their traces"

    def _begin(self) -> list[str]:
        """Return traces that are being written, from before a crash or from now on."""
        if traces := self._buffer.list_begun(_AT_ONCE):
            return traces
        with self._buffer.transaction():
            traces = self._buffer.list_due(time.time(), _AT_ONCE)
            self._buffer.begin(traces)
        return traces

    def _write(self, traces: Iterable[str]) -> int:
        done: list[tuple[str, list[str], Joined]] = []
        counts: Counter[str] = Counter()
        total = 0
        for trace in traces:
            rows = self._buffer.read(trace, WRITING, _LARGEST_TRACE)  # the rest of it is late
            joined = join_trace(trace, rows, self._buffer.read(trace, WRITTEN))
            for draft in joined.drafts:
                payload = _encode(draft)
                if not self._journal.append(payload) and len(payload) <= LARGEST:  # larger ones are counted as dropped
                    raise SystemFailed(f"{self._paths.journal}: a record cannot be written; is the disk full?")
            counts += joined.counts
            total += len(joined.drafts)
            joined.drafts.clear()  # they may be large, and there are many traces
            done.append((trace, [row.span for row in rows], joined))
        with self._buffer.transaction():
            for trace, spans, joined in done:
                self._buffer.finish(trace, spans, joined.records, joined.person)
            self._buffer.count(counts)
        return total

    def close(self) -> None:
        """Write all that waits to the journal, and close it."""
        if self._journal.closed:
            return
        try:
            self.settle(everything=True)
        finally:
            self._journal.close()
            self._buffer.close()

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _find_roots(rows: Iterable[Row]) -> dict[str, bool]:
    """Return the traces of rows, and whether the first span of each is among them."""
    roots: dict[str, bool] = {}
    for trace, _, parent, kind, *_ in rows:
        roots[trace] = roots.get(trace, False) or (not parent and kind != EVENT)
    return roots


def _encode(draft: QueryDraft | EventDraft) -> bytes:
    """Return a record as the journal has it; the lists of channels go first if all together is too much for it."""
    payload = encode_draft(draft)
    if len(payload) > LARGEST and isinstance(draft, QueryDraft) and draft.channels:
        draft.channels = None
        draft.hits = [{**hit, "channels": []} for hit in draft.hits]
        draft.attributes = {**(draft.attributes or {}), "channels": "left out: too large"}
        payload = encode_draft(draft)
    return payload


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # an ingester has just removed it
        return 0
