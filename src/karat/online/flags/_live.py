"""Flags in a running host: read from memory, and kept up to date by a thread."""

from __future__ import annotations

import logging
import os
import threading
from time import monotonic
from types import TracebackType
from weakref import WeakSet

from karat.core import KaratError, UsageError
from karat.online.flags._changes import collect_flags
from karat.online.flags._flag import CONTROL, Flag
from karat.store import open_store

EVERY = 0.5
"""Seconds between looks into the store: a change reaches every host within a second."""
_logger = logging.getLogger("karat.online")
_PATIENCE = 1.0  # seconds for which a host that closes it waits for a look that is under way
_live: WeakSet[LiveFlags] = WeakSet()


class LiveFlags:
    """The flags of a store, for a host that asks with every query.

    To ask is to look into a dict: no file, no lock, no clock. A thread looks into the store twice a second. If the
    store cannot be read, flags stay as they were last, and everybody gets the control of flags that nobody has read.
    """

    def __init__(self, path: str | os.PathLike[str] = "karat.db", *, every: float = EVERY) -> None:
        if not every > 0:
            raise UsageError(f"every={every!r} is not a number of seconds above 0")
        self._path, self._every = path, every
        self._flags: dict[str, Flag] = {}
        self._read: float | None = None
        self._error = ""
        self._unknown: set[str] = set()
        self._stop = threading.Event()
        self.refresh()
        self._start()

    @property
    def age(self) -> float | None:
        """How many seconds ago the flags were read from the store; None if that never worked."""
        return None if self._read is None else monotonic() - self._read

    @property
    def error(self) -> str:
        """Why the flags could not be read when the thread last tried; empty if they could."""
        return self._error

    def get(self, key: str) -> Flag | None:
        """Return a flag; None if there is none."""
        return self._flags.get(key)

    def assign(self, key: str, unit: str) -> str:
        """Return the variant of a unit; the control if there is no such flag, of which the host's log is told once."""
        flag = self._flags.get(key)
        if flag is not None:
            return flag.assign(unit)
        if key not in self._unknown and len(self._unknown) < 1000 and self._read is not None:
            self._unknown.add(key)
            _logger.warning("there is no flag %r: everybody gets the control", key)
        return CONTROL

    def refresh(self) -> bool:
        """Read the flags now; return whether that worked. It never raises."""
        try:
            with open_store(self._path) as store:
                flags = {key: flag for key, (flag, _) in collect_flags(store).items()}
        except (KaratError, OSError) as error:
            if not self._error and not self._stop.is_set():
                unread = "are not read yet, and everybody gets the control"
                state = unread if self._read is None else "stay as they were"
                _logger.warning("flags %s: %s", state, error)
            self._error = str(error)
            return False
        self._flags, self._read, self._error = flags, monotonic(), ""  # one dict for another: readers need no lock
        return True

    def close(self) -> None:
        """End the thread. The flags stay as they are."""
        _live.discard(self)
        self._stop.set()
        self._thread.join(_PATIENCE)  # it may wait for a server, and ends with the process

    def __enter__(self) -> LiveFlags:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _start(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, args=(self._stop,), name="karat-flags", daemon=True)
        self._thread.start()
        _live.add(self)

    def _follow(self, stop: threading.Event) -> None:
        while not stop.wait(self._every):
            self.refresh()


def _start_again() -> None:
    """Start the threads anew in the child of a fork, which has none of its parent's."""
    for flags in list(_live):
        flags._start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
