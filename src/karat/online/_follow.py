"""An ingester that goes on: in a thread of the host, or as a process of its own."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from karat.online._emitting import Emit, emitting
from karat.online._ingest import KEEP_SECONDS, Ingested, ingest
from karat.online._paths import find_paths

if TYPE_CHECKING:
    from karat.config import TelemetryConfig

_PATIENCE = 3.0  # seconds that the end waits for another ingester
_logger = logging.getLogger("karat.online")


def follow(
    path: str | os.PathLike[str],
    stop: threading.Event,
    *,
    every: float = 1.0,
    keep: float = KEEP_SECONDS,
    on_error: Callable[[Exception], None] | None = None,
    on_wait: Callable[[], None] | None = None,
    emit: Emit | None = None,
) -> Ingested:
    """Ingest every so many seconds until ``stop`` is set, and once more then; return what was done in all.

    An error does not end it, because the disk may have room again later. ``on_error`` gets the error; by default it
    goes to the log of the host. As long as there is no log it waits for one; ``on_wait`` is called once then. ``emit``
    gets the rows of queries.
    """
    total, last, paths = Ingested(), False, find_paths(path)
    while True:
        try:
            if paths.is_log():
                total += _ingest_last(path, keep, emit) if last else ingest(path, keep=keep, emit=emit)
            elif on_wait is not None:
                on_wait()
                on_wait = None
        except Exception as error:
            (on_error or _tell)(error)
        if last:
            return total
        last = stop.wait(every)


def _ingest_last(path: str | os.PathLike[str], keep: float, emit: Emit | None) -> Ingested:
    """Ingest once more; wait for another ingester, but not for ever: what it leaves is safe in the journal."""
    deadline = time.monotonic() + _PATIENCE
    while (done := ingest(path, keep=keep, emit=emit)).busy and time.monotonic() < deadline:
        time.sleep(0.02)
    return done


def _tell(error: Exception) -> None:
    _logger.warning("the query log is not ingested: %s", error)


class Ingester:
    """A thread of the host that ingests its log; a process of its own disturbs the host less."""

    def __init__(
        self, path: str | os.PathLike[str], telemetry: TelemetryConfig | None = None, every: float = 1.0
    ) -> None:
        self._path, self._telemetry, self._every = path, telemetry, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="karat-ingest", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with emitting(self._telemetry, lambda note: _logger.warning("%s", note)) as emit:
            follow(self._path, self._stop, every=self._every, emit=emit)

    def stop(self) -> None:
        """Ingest once more, and end."""
        self._stop.set()
        self._thread.join()
