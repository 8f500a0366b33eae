"""What happens to the open journals of this process when it forks, and when it ends."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Protocol


class _Forked(Protocol):
    def hold(self) -> None: ...
    def release(self) -> None: ...
    def leave(self) -> None: ...
    def close(self) -> None: ...


OPEN: weakref.WeakSet[_Forked] = weakref.WeakSet()
_held: list[_Forked] = []
"""The journals that wait for a fork to be over."""


def _hold() -> None:
    journals = sorted(OPEN, key=id)  # the same order in all threads
    for journal in journals:
        journal.hold()
    _held.extend(journals)


def _release() -> None:
    while _held:
        _held.pop().release()


def _leave() -> None:
    while _held:
        _held.pop().leave()


def _close() -> None:
    for journal in list(OPEN):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_leave)
atexit.register(_close)
