"""An ingester that goes on: in a thread of the host, or as a process of its own."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from karat.online._ingest import KEEP_SECONDS, Ingested, ingest
from karat.online._paths import find_paths

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
) -> Ingested:
    """Ingest every so many seconds until ``stop`` is set, and once more then; return what was done in all.

    An error does not end it: the disk may have room again. ``on_error`` is told, by default the log of the host.
    As long as there is no log it waits for one; ``on_wait`` is called once then.
    """
    total, last, paths = Ingested(), False, find_paths(path)
    while True:
        try:
            if paths.is_log():
                total += _ingest_last(path, keep) if last else ingest(path, keep=keep)
            elif on_wait is not None:
                on_wait()
                on_wait = None
        except Exception as error:
            (on_error or _tell)(error)
        if last:
            return total
        last = stop.wait(every)


def _ingest_last(path: str | os.PathLike[str], keep: float) -> Ingested:
    """Ingest once more; wait for another ingester, but not for ever: what it leaves is safe in the journal."""
    deadline = time.monotonic() + _PATIENCE
    while (done := ingest(path, keep=keep)).busy and time.monotonic() < deadline:
        time.sleep(0.02)
    return done


def _tell(error: Exception) -> None:
    _logger.warning("the query log is not ingested: %s", error)


class Ingester:
    """A thread of the host that ingests its log; a process of its own disturbs the host less."""

    def __init__(self, path: str | os.PathLike[str], every: float = 1.0) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=follow, args=(path, self._stop), kwargs={"every": every}, daemon=True)
        self._thread.name = "karat-ingest"
        self._thread.start()

    def stop(self) -> None:
        """Ingest once more, and end."""
        self._stop.set()
        self._thread.join()
