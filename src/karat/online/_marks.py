"""Whether a process is the child of a fork, found out without asking the kernel: a user waits for the answer."""

from __future__ import annotations

import os
import sys
from mmap import PAGESIZE, mmap
from typing import Protocol

_WIPE_ON_FORK = 18  # madvise(2), Linux 4.14; the module mmap does not name it in all versions


class Mark(Protocol):
    """Its first byte is 0 in a fork of the process that made it."""

    def __getitem__(self, index: int, /) -> int:
        """Return the byte at a position."""
        ...


class _PidMark:
    """The same where the kernel does not clear pages: it is asked for the number of the process."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    def __getitem__(self, _: int) -> int:
        return os.getpid() == self._pid


def mark_process() -> Mark:
    """Return a mark of this process.

    >>> mark_process()[0]
    1
    """
    if sys.platform != "linux":
        return _PidMark()
    from mmap import MAP_ANONYMOUS, MAP_PRIVATE

    page = mmap(-1, PAGESIZE, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    try:
        page.madvise(_WIPE_ON_FORK)
    except OSError:  # an older kernel
        page.close()
        return _PidMark()
    page[0] = 1
    return page
