"""Where the words of a block went: pairs of the same word in the old text and in the new one.

Shingles of the block show where in the new text most of it stands now. There, the longest chain of shingles in the same
order is the skeleton (a longest increasing subsequence, n log n), and the gaps between its links are filled by the
longest common subsequence of the few words in them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from karat.migration._words import SHINGLE, Places, Words

WINDOW = 1000
"""Bytes at either side by which the place where a block stands now may be longer than the block."""
_LARGEST_GAP = 10_000
"""Pairs of words that are compared to fill a gap; a larger one stays open."""


class Pair(NamedTuple):
    """The same word in the old text and in the new one."""

    old: int
    new: int


def match_words(old: Words, first: int, stop: int, new: Words, places: Places, expected: int) -> list[Pair]:
    """Return where the words of a block are in the new text, in order; empty if no shingle of it is there.

    The block has the words from ``first`` up to ``stop`` of the old text. ``expected`` is where its first word
    probably is now, which decides between places that are equally good.
    """
    length = min(SHINGLE, stop - first)
    seeds = [
        Pair(at, place)
        for at in range(first, stop - length + 1)
        for place in places.near(old.shingle(at, length), expected + at - first)
    ]
    if not seeds:
        return []
    reach = old.ends[stop - 1] - old.starts[first] + 2 * WINDOW
    low, high = _best_window(seeds, new.starts, reach, expected)
    chain = _longest_chain([pair for pair in seeds if low <= pair.new <= high])
    links = _widen(chain, length)
    return list(_fill(links, old.keys, new.keys, first, stop))


def _best_window(seeds: Sequence[Pair], starts: Sequence[int], reach: int, expected: int) -> tuple[int, int]:
    """Return the stretch of at most ``reach`` bytes that holds most of a block's shingles: the shortest of those."""
    ordered = sorted(seeds, key=lambda pair: pair.new)
    held: Counter[int] = Counter()
    best, window, left = (0, 0, 0), (0, 0), 0
    for pair in ordered:
        held[pair.old] += 1
        while held[ordered[left].old] > 1 or starts[pair.new] - starts[ordered[left].new] > reach:
            held[ordered[left].old] -= 1
            if not held[ordered[left].old]:
                del held[ordered[left].old]
            left += 1
        rank = len(held), ordered[left].new - pair.new, -abs(ordered[left].new - expected)
        if not best[0] or rank > best:
            best, window = rank, (ordered[left].new, pair.new)
    return window


def _longest_chain(seeds: Sequence[Pair]) -> list[Pair]:
    """Return a longest selection of pairs that rises in both texts (Schensted, 1961)."""
    ordered = sorted(seeds, key=lambda pair: (pair.old, -pair.new))
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for at, pair in enumerate(ordered):
        place = bisect_left(tails, pair.new)
        before.append(ends[place - 1] if place else -1)
        if place == len(tails):
            tails.append(pair.new)
            ends.append(at)
        else:
            tails[place], ends[place] = pair.new, at
    chain, at = [], ends[-1]
    while at >= 0:
        chain.append(ordered[at])
        at = before[at]
    return chain[::-1]


def _widen(chain: Sequence[Pair], length: int) -> list[Pair]:
    """Return the pairs of words in a chain of shingles, which may overlap."""
    pairs: list[Pair] = []
    for old, new in chain:
        for step in range(length):
            if not pairs or (old + step > pairs[-1].old and new + step > pairs[-1].new):
                pairs.append(Pair(old + step, new + step))
    return pairs


def _fill(pairs: Sequence[Pair], old: Sequence[str], new: Sequence[str], first: int, stop: int) -> Iterator[Pair]:
    """Yield all pairs, with those in the gaps and at the ends of a chain."""
    head, tail = pairs[0], pairs[-1]
    yield from _common(old, new, first, head.old, max(0, head.new - 2 * (head.old - first)), head.new)
    for pair, following in pairwise(pairs):
        yield pair
        yield from _common(old, new, pair.old + 1, following.old, pair.new + 1, following.new)
    yield tail
    reach = tail.new + 1 + 2 * (stop - tail.old - 1)
    yield from _common(old, new, tail.old + 1, stop, tail.new + 1, min(len(new), reach))


def _common(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> list[Pair]:
    """Return a longest common subsequence of ``old[a:b]`` and ``new[c:d]``; nothing if they are too long."""
    if a >= b or c >= d or (b - a) * (d - c) > _LARGEST_GAP:
        return []
    rows = [[0] * (d - c + 1)]
    for left in reversed(range(a, b)):
        below, row = rows[-1], [0]
        for right in reversed(range(c, d)):
            same = old[left] == new[right]
            row.append(below[d - right - 1] + 1 if same else max(below[d - right], row[-1]))
        rows.append(row)
    pairs, left, right = [], a, c
    while left < b and right < d:
        if old[left] == new[right]:
            pairs.append(Pair(left, right))
            left, right = left + 1, right + 1
        elif rows[b - left - 1][d - right] >= rows[b - left][d - right - 1]:
            left += 1
        else:
            right += 1
    return pairs
