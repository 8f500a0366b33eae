"""Time limits in CPU seconds of this process, so that a busy machine changes nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 10.0
SECONDS_PER_BYTE = 2e-4


class TooSlow(BaseException):
    """A case takes too long. Not an Exception, so that nothing in karat catches it."""


@contextmanager
def time_limit(size: int) -> Iterator[None]:
    """Raise TooSlow in the middle of whatever takes too long for an input of that many bytes."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"{size:,} bytes took more than {SECONDS + size * SECONDS_PER_BYTE:.1f} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS + size * SECONDS_PER_BYTE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
