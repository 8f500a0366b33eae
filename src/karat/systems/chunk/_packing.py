"""The places at which a text may be cut, and the fewest parts within a size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from karat.systems.chunk._measured import Measured
from karat.text import line_places, sentence_places

Range = tuple[int, int]
"""A range of characters, without its end."""

Breaker = Callable[[str, int, int], Iterable[int]]
"""Returns the characters between two others at which a text may be cut, in order."""

BY_SENTENCE: tuple[Breaker, ...] = (sentence_places, line_places)
BY_LINE: tuple[Breaker, ...] = (line_places,)


def divide(measured: Measured, start: int, stop: int, room: int, breakers: Sequence[Breaker]) -> list[int]:
    """Return places from ``start`` to ``stop`` with at most ``room`` tokens between neighbours.

    The first breaker is always used, each further one only for parts that are still too long. What is too long after
    the last one is cut between two tokens.
    """
    places = [start, *soft_places(measured, start, stop, breakers[0]), stop]
    for breaker in (*breakers[1:], None):
        finer = [start]
        for a, b in pairwise(places):
            if measured.count(a, b) > room:
                finer += soft_places(measured, a, b, breaker) if breaker else hard_places(measured, a, b, room)
            finer.append(b)
        places = finer
    return places


def soft_places(measured: Measured, start: int, stop: int, breaker: Breaker) -> Iterator[int]:
    """Yield the characters between two others at which a breaker allows a cut that leaves all tokens whole."""
    return (at for at in breaker(measured.text, start, stop) if measured.separates(at))


def hard_places(measured: Measured, start: int, stop: int, room: int) -> Iterator[int]:
    """Yield characters between two others at which a text is cut into the largest parts of at most ``room`` tokens."""
    while measured.count(start, stop) > room and (start := measured.ahead(start, room)) < stop:
        yield start


def pack(measured: Measured, places: Sequence[int], room: int, overlap: int = 0) -> Iterator[Range]:
    """Yield ranges from the first place to the last, each as long as fits into ``room`` tokens.

    Each range begins with at most ``overlap`` tokens of the end of the one before, and has at least one new part. A
    part that is too long by itself is a range of its own.
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
    """A range of characters that should stay together, with its tokens, type and section."""

    start: int
    end: int
    tokens: int
    type: str = ""
    section: str = ""
    depth: int = 0
    body: int = 0
    """Where it begins, without the headings before it."""


def merge(stretches: Iterable[Stretch], least: int, fit: Callable[[Stretch, Stretch], bool]) -> list[Stretch]:
    """Return stretches in which those of fewer than ``least`` tokens are merged with the next, or with the one before.

    ``fit`` decides whether two may be merged. A merged stretch has the type and section of its first one.
    """
    merged: list[Stretch] = []
    for stretch in stretches:
        if merged and merged[-1].tokens < least and fit(merged[-1], stretch):
            merged[-1] = _join(merged[-1], stretch)
        else:
            _join_back(merged, least, fit)
            merged.append(stretch)
    _join_back(merged, least, fit)
    return merged


def _join_back(merged: list[Stretch], least: int, fit: Callable[[Stretch, Stretch], bool]) -> None:
    if len(merged) > 1 and merged[-1].tokens < least and fit(merged[-2], merged[-1]):
        merged[-2:] = [_join(merged[-2], merged[-1])]


def _join(left: Stretch, right: Stretch) -> Stretch:
    return left._replace(end=right.end, tokens=left.tokens + right.tokens)
