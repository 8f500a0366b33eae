"""Which sessions of a log are over, and were not measured before; a function of the log alone, which names nobody.

A session is what was recorded under its id until nothing came for a stated time. What comes later under the same id is
not looked at: people who come back are not independent of themselves. The number of a row tells when it arrived, so
that a session is measured once, whenever and however often somebody reads the log, and records that arrive later than
their session was measured are noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Arrived(Generic[T]):
    """A record of a session."""

    time: float
    new: bool
    """Whether it arrived since the log was last read."""
    record: T


class Fate(StrEnum):
    """What becomes of a session when a log is read."""

    OVER = "over"
    """It is measured now."""
    OPEN = "open"
    """It may go on."""
    BEFORE = "before"
    """It began before the trial."""
    KNOWN = "known"
    """It was measured before."""
    LATE = "late"
    """It was measured before, and something of it has arrived since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The time that is read: sessions that were over by ``until``, without those that were over by ``before``."""

    since: float
    """When the trial started."""
    before: float
    until: float
    idle: float

    def judge(self, records: Sequence[Arrived[T]], counts: Callable[[T], bool]) -> tuple[Fate, Sequence[Arrived[T]]]:
        """Return what becomes of a session, and its records up to the first pause.

        ``records`` are in the order of time; a session is measured if ``counts`` is true of one of them.
        """
        if records[0].time < self.since:
            return Fate.BEFORE, records
        first = self._cut(records)
        known = self._cut([record for record in records if not record.new])
        if known and known[-1].time + self.idle <= self.before and any(counts(own.record) for own in known):
            return (Fate.LATE if any(own.new for own in first) else Fate.KNOWN), first
        return (Fate.OVER if first[-1].time + self.idle <= self.until else Fate.OPEN), first

    def _cut(self, records: Sequence[Arrived[T]]) -> Sequence[Arrived[T]]:
        """Return the records up to the first pause."""
        for place in range(1, len(records)):
            if records[place].time - records[place - 1].time > self.idle:
                return records[:place]
        return records
