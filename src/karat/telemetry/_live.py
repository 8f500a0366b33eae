"""Sending live queries in a thread of their own, while they come in.

Whoever hands queries over waits only for a collector that takes them, so that a long backlog is not lost. One that is
down, or slow, costs what it does not take: those queries are counted, and dropped here. They are in the store.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from karat.net import strip_secrets
from karat.telemetry._destination import Destination
from karat.telemetry._records import LiveQuery
from karat.telemetry._sending import BATCH, open_exporter, require_sendable

if TYPE_CHECKING:
    from karat.telemetry._live_emission import LiveEmission

MOST = 20_000
"""Queries that may wait."""
_INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"


class LiveSending:
    """Sends live queries to a collector until it is closed.

    ``read`` makes a query of what is handed over, in the thread that sends. ``say`` gets a note whenever a collector
    stops taking queries.
    """

    def __init__(
        self, destination: Destination, read: Callable[[Any], LiveQuery], say: Callable[[str], None], most: int = MOST
    ) -> None:
        self._destination, self._read, self._say, self._most = destination, read, say, most
        self._waiting: deque[Any] = deque()
        self._changed = threading.Condition()
        self._busy, self._dropped = 0, 0
        self._is_closing, self._is_well = False, True
        self._refused: set[str] = set()
        self._exporters: dict[str, Any] = {}
        # A daemon: a collector that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="karat-telemetry", daemon=True)
        self._thread.start()

    def put(self, rows: Sequence[Any]) -> None:
        """Hand queries over, and return at once; where many wait for a collector that takes them, wait for room."""
        for at in range(0, len(rows), BATCH):
            piece = rows[at : at + BATCH]
            with self._changed:
                if self._is_well:
                    self._is_well = self._changed.wait_for(self._has_room, self._destination.timeout)
                if len(self._waiting) >= self._most:
                    self._dropped += len(piece)
                else:
                    self._waiting.extend(piece)
                    self._changed.notify_all()

    def _has_room(self) -> bool:
        return len(self._waiting) < self._most or not self._is_well

    def close(self) -> str:
        """Send what waits, for a limited time, and return a note on what was not taken; empty if all was."""
        deadline = time.monotonic() + self._destination.timeout
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join(max(0.0, deadline - time.monotonic()))
        with self._changed:
            lost = self._dropped + self._busy + len(self._waiting)
            self._waiting.clear()
        count = "1 query" if lost == 1 else f"{lost:,} queries"
        return f"telemetry: the collector has not taken {count}; the log itself is complete" if lost else ""

    def _run(self) -> None:
        try:
            require_sendable(self._destination)
            signals = [signal for signal in ("traces", "metrics") if signal in self._destination.urls]
            self._exporters = {signal: open_exporter(signal, self._destination) for signal in signals}
            self._send_all()
        except Exception as error:  # a bug, or a package that is not installed: the log goes on
            self._say(f"telemetry: {error}; logging continues")
            self._finish(taken=False)
            while self._take(None) is not None:
                self._finish(taken=False)

    def _send_all(self) -> None:
        """Send queries until there are no more, and metrics from time to time."""
        from karat.telemetry._live_emission import LiveEmission

        emission = LiveEmission(self._destination)
        interval = float(os.environ.get(_INTERVAL) or 60_000) / 1000
        following = time.monotonic() + interval
        while (rows := self._take(max(0.0, following - time.monotonic()))) is not None:
            if rows:
                self._finish(taken=self._export("traces", emission.emit(map(self._read, rows))))
            if time.monotonic() >= following:
                following = time.monotonic() + interval
                self._send_metrics(emission)
        self._send_metrics(emission)
        for exporter in self._exporters.values():
            exporter.shutdown()

    def _send_metrics(self, emission: LiveEmission) -> None:
        if (metrics := emission.collect()) is not None:
            self._export("metrics", metrics)

    def _export(self, signal: str, records: Any) -> bool:
        if signal not in self._exporters or not records:
            return True
        taken = bool(self._exporters[signal].export(records).name == "SUCCESS")
        if taken:
            self._refused.discard(signal)
        elif signal not in self._refused:  # once, and again if it was taken in between
            self._refused.add(signal)
            where = strip_secrets(self._destination.urls[signal])
            self._say(f"telemetry: the collector at {where} does not take the {signal}; logging continues")
        return taken

    def _take(self, seconds: float | None) -> list[Any] | None:
        """Return what is sent next, nothing after so many seconds, and None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closing, seconds)
            if not self._waiting:
                return None if self._is_closing else []
            rows = list(islice(self._waiting, BATCH))
            for _ in rows:
                self._waiting.popleft()
            self._busy = len(rows)
            self._changed.notify_all()
            return rows

    def _finish(self, *, taken: bool) -> None:
        with self._changed:
            self._is_well = taken
            self._dropped += 0 if taken else self._busy
            self._busy = 0
            self._changed.notify_all()
