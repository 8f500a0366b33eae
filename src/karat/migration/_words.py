"""The words of a text with the bytes where they stand, and the places of runs of words (shingles)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from karat.core import Span
from karat.text import word_pattern

SHINGLE = 3
"""Words in a shingle; those of a block with fewer words are as long as the block."""
_NEAREST = 8
"""Places of a shingle that are looked at: those nearest to where it is expected."""

Shingle: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text without case, and the bytes of each."""

    keys: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]

    def __len__(self) -> int:
        return len(self.keys)

    def within(self, span: Span) -> tuple[int, int]:
        """Return the first word in a span, and the one after the last. A word that reaches out of it does not count."""
        first = bisect_left(self.starts, span.start)
        return first, max(first, bisect_right(self.ends, span.end))

    def shingle(self, at: int, length: int) -> Shingle:
        """Return the run of words that begins at a word."""
        return tuple(self.keys[at : at + length])

    def shingles(self, first: int, stop: int, length: int) -> set[Shingle]:
        """Return the runs of words between two places."""
        return {self.shingle(at, length) for at in range(first, stop - length + 1)}


def find_words(text: str) -> Words:
    """Return the words of a text. In scripts without spaces every character is a word.

    >>> words = find_words("Wi-Fi für alle")
    >>> words.keys, words.starts, words.ends
    (['wi', 'fi', 'für', 'alle'], [0, 3, 6, 11], [2, 5, 10, 15])
    """
    keys, starts, ends = [], [], []
    plain = text.isascii()
    at, byte = 0, 0
    for match in word_pattern().finditer(text):
        start, end = match.span()
        word = match[0]
        first = start if plain else byte + len(text[at:start].encode())
        last = end if plain else first + len(word.encode())
        keys.append(word.casefold())
        starts.append(first)
        ends.append(last)
        at, byte = end, last
    return Words(keys, starts, ends)


class Places:
    """Where the shingles of a text stand."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._places: dict[int, dict[Shingle, list[int]]] = {}

    def near(self, shingle: Shingle, expected: int) -> list[int]:
        """Return where a shingle stands, at most at the eight places nearest to the expected one."""
        places = self._all(len(shingle)).get(shingle, [])
        if len(places) <= _NEAREST:
            return places
        at = bisect_left(places, expected)
        around = places[max(0, at - _NEAREST) : at + _NEAREST]
        return sorted(sorted(around, key=lambda place: abs(place - expected))[:_NEAREST])

    def _all(self, length: int) -> dict[Shingle, list[int]]:
        if length not in self._places:
            places: dict[Shingle, list[int]] = {}
            for at in range(len(self._words) - length + 1):
                places.setdefault(self._words.shingle(at, length), []).append(at)
            self._places[length] = places
        return self._places[length]
