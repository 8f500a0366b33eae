"""Places at which a text may be cut, and the fewest parts that respect a size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from karat.systems.chunk._measured import Measured
from karat.text import line_places, sentence_places

Range = tuple[int, int]
"""Characters, the end excluded."""

Breaker = Callable[[str, int, int], Iterable[int]]
"""Gives the characters between two others at which a text may be cut, in order."""

BY_SENTENCE: tuple[Breaker, ...] = (sentence_places, line_places)
BY_LINE: tuple[Breaker, ...] = (line_places,)


def divide(measured: Measured, start: int, stop: int, room: int, breakers: Sequence[Breaker]) -> list[int]:
    """Give places from ``start`` to ``stop``, with at most ``room`` tokens between two.

    The first breaker is always used; the next ones only where the one before left too much; and where none is left,
    the text is cut between two tokens.
    """
    found = [start, *soft_places(measured, start, stop, breakers[0]), stop]
    for breaker in (*breakers[1:], None):
        finer = [start]
        for a, b in pairwise(found):
            if measured.count(a, b) > room:
                finer += soft_places(measured, a, b, breaker) if breaker else hard_places(measured, a, b, room)
            finer.append(b)
        found = finer
    return found


def soft_places(measured: Measured, start: int, stop: int, breaker: Breaker) -> Iterator[int]:
    """Give the characters between two others at which a breaker lets a text be cut, none of them within a token."""
    return (at for at in breaker(measured.text, start, stop) if measured.separates(at))


def hard_places(measured: Measured, start: int, stop: int, room: int) -> Iterator[int]:
    """Give the characters between two others at which a text has to be cut, in order, each part as large as can be."""
    while measured.count(start, stop) > room and (start := measured.ahead(start, room)) < stop:
        yield start


def pack(measured: Measured, places: Sequence[int], room: int, overlap: int = 0) -> Iterator[Range]:
    """Put together what stands between places, from the first to the last, as much as fits into ``room`` tokens.

    Each range begins with as much of the end of the one before as has at most ``overlap`` tokens, and as leaves room
    for at least one thing that is new. What is too large by itself stays alone.
    """
    index = [measured.index(place) for place in places]
    first, last = 0, len(places) - 1
    while first < last:
        after = max(first + 1, bisect_right(index, index[first] + room) - 1)
        yield places[first], places[after]
        if after == last:
            return
        earliest = max(index[after] - overlap, index[after + 1] - room)
        first = min(after, bisect_left(index, earliest, first + 1, after))


class Stretch(NamedTuple):
    """A range of characters that should stay together, the tokens in it, and what it is."""

    start: int
    end: int
    tokens: int
    type: str = ""
    section: str = ""
    depth: int = 0
    body: int = 0
    """Where it begins without the headings before it."""


def merge(stretches: Iterable[Stretch], least: int, fit: Callable[[Stretch, Stretch], bool]) -> list[Stretch]:
    """Put each stretch of fewer than ``least`` tokens together with the next, or else with the one before, if they fit.

    What was put together is what its first stretch was.
    """
    found: list[Stretch] = []
    for stretch in stretches:
        if found and found[-1].tokens < least and fit(found[-1], stretch):
            found[-1] = _joined(found[-1], stretch)
        else:
            _join_back(found, least, fit)
            found.append(stretch)
    _join_back(found, least, fit)
    return found


def _join_back(found: list[Stretch], least: int, fit: Callable[[Stretch, Stretch], bool]) -> None:
    if len(found) > 1 and found[-1].tokens < least and fit(found[-2], found[-1]):
        found[-2:] = [_joined(found[-2], found[-1])]


def _joined(one: Stretch, other: Stretch) -> Stretch:
    return one._replace(end=other.end, tokens=one.tokens + other.tokens)
