"""How far a queue is done, and who is asked what next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from karat.labelling._book import Book, Pair, decide_grade, is_disputed, list_grades, list_labels, settle
from karat.labelling._queue import Queue
from karat.schema.labelling import DecidedRuns, LabelLine
from karat.stats import estimate_difference

HELD = 600.0
"""Seconds for which a pair that somebody looks at is kept from others."""
_AT_ONCE = 4096


@dataclass(slots=True)
class _Reader:
    """What one person has done, and the pair that this person looks at."""

    order: np.ndarray
    cursor: int = 0
    """All before it in the order are done."""
    holds: int = -1
    since: float = -HELD


@dataclass(slots=True)
class Tally:
    """How often a person gave which verdict, and how long that took."""

    verdicts: Counter[str] = field(default_factory=Counter)
    times: Counter[float] = field(default_factory=Counter)

    def count(self, line: LabelLine | None, step: int) -> None:
        """Count a label, or take it out again."""
        if line is None:
            return
        self.verdicts[line.verdict] += step
        if line.seconds is not None and line.verdict != "skip":
            self.times[line.seconds] += step

    @property
    def seconds(self) -> float | None:
        """The lower median of the seconds that labels took; None if nobody took the time."""
        middle = (self.times.total() - 1) // 2
        for seconds in sorted(self.times):
            middle -= self.times[seconds]
            if middle < 0:
                return seconds
        return None


class QueueState:
    """A queue with the labels that a book has of it. It follows the book, and reads nothing twice."""

    def __init__(self, queue: Queue, book: Book, clock: Callable[[], float] = time.monotonic) -> None:
        self.queue = queue
        self.book = book
        self.labels = np.zeros(len(queue), np.int16)
        """How many labels each pair has; what was settled has all that it needs."""
        self.gains = np.full(len(queue), np.nan)
        self._clock = clock
        self.tallies: dict[str, Tally] = {}
        """What each person has done in the queue."""
        self._answered: dict[str, dict[int, LabelLine]] = {}
        self._readers: dict[str, _Reader] = {}
        self._edition, self._seen = -1, 0
        self._disputes: tuple[tuple[int, int], list[Pair]] = ((-1, -1), [])

    def follow(self) -> None:
        """Take note of what changed in the book."""
        if self._edition != self.book.edition:
            self._begin()
        for change in self.book.changes[self._seen :]:
            self._note(change.pair, (change.who,))
        self._seen = len(self.book.changes)

    def _begin(self) -> None:
        self.labels[:] = 0
        self.gains[:] = np.nan
        self._answered.clear()
        self.tallies.clear()
        for reader in self._readers.values():
            reader.cursor = 0
        self._edition, self._seen = self.book.edition, len(self.book.changes)
        for pair, votes in self.book.pairs():
            self._note(pair, {who for who, _ in votes})

    def _note(self, pair: Pair, people: Iterable[str]) -> None:
        """Take note of what some people say of a pair now."""
        number = self.queue.find(pair)
        if number is None:
            return
        votes = self.book.votes(pair)
        before = int(self.labels[number])
        labels = len(list_labels(votes))
        self.labels[number] = max(labels, int(self.queue.needed[number])) if settle(votes) else labels
        is_taken_back = self.labels[number] < before
        now = {who: line for (who, settles), line in votes.items() if not settles}
        for who in people:
            if who in now or number in self._answered.get(who, ()):
                is_taken_back |= self._replace(who, number, now.get(who))
        if is_taken_back:
            for reader in self._readers.values():
                reader.cursor = 0
        if self.queue.head.gains:
            grade = decide_grade(votes)
            self.gains[number] = np.nan if grade is None else self._gain(grade)

    def _replace(self, who: str, number: int, line: LabelLine | None) -> bool:
        """Note what a person says of a pair now; return whether it was taken back."""
        own, tally = self._answered.setdefault(who, {}), self.tallies.setdefault(who, Tally())
        tally.count(own.pop(number, None), -1)
        tally.count(line, 1)
        if line is not None:
            own[number] = line
        return line is None

    def _gain(self, grade: int) -> float:
        gains = self.queue.head.gains
        return gains[min(grade, len(gains) - 1)]

    def next_pair(self, who: str) -> Pair | None:
        """Return the pair that a person is asked next, and keep it from others for a while; None if none is left.

        What this person skipped does not come again. If others look at all that is left, the person is asked the same.
        """
        if self.queue.head.kind == "disputes":
            return next(iter(self.list_disputes(who)), None)
        reader, now = self._open_reader(who), self._clock()
        others = [other for name, other in self._readers.items() if name != who and now - other.since < HELD]
        looked_at = Counter(other.holds for other in others)
        fallback = None
        for number in self._list_open(who, reader):
            if self.labels[number] + looked_at[number] < self.queue.needed[number]:
                return self._hold(reader, number, now)
            fallback = number if fallback is None else fallback
        return None if fallback is None else self._hold(reader, fallback, now)

    def hold(self, who: str, pair: Pair) -> None:
        """Keep a pair that a person looks at from others for a while."""
        number = self.queue.find(pair)
        if number is not None:
            self._hold(self._open_reader(who), number, self._clock())

    def _hold(self, reader: _Reader, number: int, now: float) -> Pair:
        reader.holds, reader.since = number, now
        return self.queue.pair(number)

    def _open_reader(self, who: str) -> _Reader:
        if who not in self._readers:
            self._readers[who] = _Reader(self.queue.order(who))
        return self._readers[who]

    def _list_open(self, who: str, reader: _Reader) -> Iterator[int]:
        """Yield the pairs that need labels and that a person has not answered, in the order of that person."""
        answered = self._answered.get(who, {})
        for start in range(reader.cursor, len(reader.order), _AT_ONCE):
            block = reader.order[start : start + _AT_ONCE]
            needy = block[self.labels[block] < self.queue.needed[block]].tolist()
            numbers = [number for number in needy if number not in answered]
            if not numbers and start == reader.cursor:
                reader.cursor += _AT_ONCE
            yield from numbers

    def count_left(self, who: str) -> int:
        """Return how many pairs a person can label."""
        if self.queue.head.kind == "disputes":
            return len(self.list_disputes(who))
        needy = self.labels < self.queue.needed
        return int(np.count_nonzero(needy)) - sum(bool(needy[number]) for number in self._answered.get(who, ()))

    def count_shared_left(self) -> int:
        """Return how many pairs for several people lack labels."""
        return int(np.count_nonzero(self._lacks_others()))

    def count_lacking(self) -> dict[str, int]:
        """Return how many of those pairs, half done by others, each person who began did not answer."""
        half = (self._lacks_others() & (self.labels > 0)).nonzero()[0].tolist()
        return {who: sum(number not in own for number in half) for who, own in self._answered.items() if own}

    def _lacks_others(self) -> np.ndarray:
        return (self.queue.needed > 1) & (self.labels < self.queue.needed)

    def list_disputes(self, who: str = "") -> list[Pair]:
        """Return the pairs to settle, the widest apart first, without those that ``who`` has put aside."""
        mark = (self.book.edition, len(self.book.changes))
        if self._disputes[0] != mark:
            self._disputes = mark, list_disputes(self.book)
        return [pair for pair in self._disputes[1] if (who, True) not in self.book.votes(pair)]

    def awaits(self, pair: Pair, who: str = "") -> bool:
        """Return whether the queue still asks about a pair: ``who``, or anybody if that is not known."""
        number = self.queue.find(pair)
        if number is None or self.labels[number] >= self.queue.needed[number]:
            return False
        return number not in self._answered.get(who, ())

    def decide(self) -> DecidedRuns | None:
        """Return what is known by now of the two runs that the queue decides between."""
        head = self.queue.head
        if not head.gains:
            return None
        weights, gains = self.queue.known
        estimate = estimate_difference(
            np.concatenate([self.queue.weights, weights]), np.concatenate([self.gains, gains]), head.gains[-1]
        )
        return DecidedRuns(
            measure=head.measure, confidence=estimate.confidence, difference=estimate.mean, sd=estimate.sd
        )


def list_disputes(book: Book) -> list[Pair]:
    """Return the pairs that somebody has to settle, the widest apart first, then by query and document."""
    disputed = [(pair, list_grades(votes).values()) for pair, votes in book.pairs() if is_disputed(votes)]
    return [pair for pair, grades in sorted(disputed, key=lambda own: (-_spread(own[1]), own[0]))]


def _spread(grades: Collection[int]) -> int:
    return max(grades) - min(grades) if grades else 0
