"""Numbers of sections: those of the headings, if they can be trusted, else their places in the tree.

The headings' own numbers are used when at least half of the headings have one, each is higher than the one before (so
that none occurs twice), and no numbered heading is below an unnumbered one whose number it does not continue. A heading
without a number then gets the next free one below its parent. A document's title, which is the first heading, without a
number and not below any other, gets 0: it heads what comes before chapter 1.

Otherwise headings are counted: 1, 1.1, 1.2, 2. A skipped level adds no number: ``#`` and ``###`` below it are 1 and
1.1, not 1.0.1. Either way the numbers rise in reading order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from karat.text._ids import Path

DEEPEST = 6
FRONT: Path = (0,)
"""The section before the first heading."""

_NUMBER = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3}){0,5}+)[.):]?(?:\s|$)")


class Heading(NamedTuple):
    """A heading's level, from 1 up, and the number in its title, empty if it has none."""

    level: int
    number: Path = ()


def number_of(title: str) -> Path:
    """Return the number with which a title begins, or (); years and measurements do not count.

    >>> number_of("4.2 Late check-out"), number_of("1. Scope"), number_of("2026 prices"), number_of("3D plans")
    ((4, 2), (1,), (), ())
    """
    match = _NUMBER.match(title)
    return tuple(map(int, match[1].split("."))) if match else ()


def paths(headings: Sequence[Heading], *, front: bool) -> list[Path]:
    """Return the numbers of the headings. With ``front``, something stands before the first one, and has number 0.

    >>> paths([Heading(1), Heading(2, (4,)), Heading(3, (4, 2)), Heading(3)], front=False)
    [(0,), (4,), (4, 2), (4, 3)]
    >>> paths([Heading(1), Heading(3), Heading(2, (7,)), Heading(1)], front=False)
    [(1,), (1, 1), (1, 2), (2,)]
    """
    return _own(headings, front) or _counted(headings)


def _own(headings: Sequence[Heading], front: bool) -> list[Path] | None:
    title = _has_title(headings)
    rest = headings[1:] if title else headings
    if 2 * sum(bool(heading.number) for heading in rest) < len(rest):
        return None
    numbers: list[Path] = [FRONT] if title else []
    last: Path = FRONT if title or front else ()
    above: list[tuple[Heading, Path]] = []
    highest: dict[Path, int] = {}  # the last number below a section
    for heading in rest:
        while above and above[-1][0].level >= heading.level:
            above.pop()
        parent, below = above[-1] if above else (None, ())
        path = heading.number or (*below, highest.get(below, 0) + 1)
        strayed = parent is not None and not parent.number and path[: len(below)] != below
        if strayed or path <= last or len(path) > DEEPEST:
            return None
        highest.update((path[:depth], number) for depth, number in enumerate(path))
        above.append((heading, path))
        numbers.append(path)
        last = path
    return numbers


def _has_title(headings: Sequence[Heading]) -> bool:
    if len(headings) < 2 or headings[0].number:
        return False
    return all(heading.level >= headings[0].level for heading in headings[1:])


def _counted(headings: Sequence[Heading]) -> list[Path]:
    numbers: list[Path] = []
    levels: list[int] = []
    counts: list[int] = []
    for heading in headings:
        depth = len(levels)
        while depth and (levels[depth - 1] >= heading.level or depth == DEEPEST):
            depth -= 1
        # Counting goes on at this depth, and starts again below it.
        counts = counts[: depth + 1] if len(counts) > depth else [*counts, 0]
        counts[depth] += 1
        levels = [*levels[:depth], heading.level]
        numbers.append(tuple(counts))
    return numbers
