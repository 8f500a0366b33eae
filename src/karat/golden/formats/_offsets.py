"""Conversion between character offsets of a text as it came and byte offsets of its canonical form."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from karat.core import Span
from karat.text import canonical


class Offsets:
    r"""A text and its canonical form.

    The two differ only in white space, hyphens, control characters and the composition of accented letters, and running
    heads are removed. The remaining letters are the same, so a passage is located by counting letters. If the count
    does not fit, the nearest occurrence of the passage is taken.

    >>> text = Offsets("caf\u0065\u0301\r\nopen  \r\n")
    >>> text.to_bytes(7, 11), text.to_characters(Span(6, 10)), text.passage(Span(6, 10))
    (Span(start=6, end=10), (7, 11), 'open')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.canonical = canonical(text)
        self._same = self.canonical.startswith(text)

    def to_bytes(self, start: int, end: int) -> Span | None:
        """Return the span of a range of characters, or None if the canonical text does not contain it.

        White space at either end is left out where the two forms differ in it.
        """
        place = (start, end) if self._same else _translate(self._letters, self._canonical_letters, start, end)
        return place and Span(self._byte(place[0]), self._byte(place[1]))

    def to_characters(self, span: Span) -> tuple[int, int] | None:
        """Return the range of characters of a span, or None if it does not fit the text."""
        start, end = self._character(span.start), self._character(span.end)
        if start is None or end is None or start > end:
            return None
        if self._same:
            return start, min(end, len(self.text))
        return _translate(self._canonical_letters, self._letters, start, end)

    def passage(self, span: Span) -> str:
        """Return the canonical text of a span, or an empty text if it does not fit."""
        start, end = self._character(span.start), self._character(span.end)
        return "" if start is None or end is None else self.canonical[start:end]

    @cached_property
    def _letters(self) -> _Letters:
        return _letters(self.text)

    @cached_property
    def _canonical_letters(self) -> _Letters:
        return _letters(self.canonical)

    @cached_property
    def _bytes(self) -> list[int] | None:
        """The byte at which each character begins, or None if every character is one byte."""
        if self.canonical.isascii():
            return None
        return list(accumulate((len(character.encode()) for character in self.canonical), initial=0))

    def _byte(self, character: int) -> int:
        return character if self._bytes is None else self._bytes[character]

    def _character(self, byte: int) -> int | None:
        if self._bytes is None:
            return byte if 0 <= byte <= len(self.canonical) else None
        at = bisect_left(self._bytes, byte)
        return at if at < len(self._bytes) and self._bytes[at] == byte else None


class _Letters(NamedTuple):
    """The letters of a text that its canonical form keeps, and the position of each."""

    text: str
    letters: str
    places: list[int]


def _letters(text: str) -> _Letters:
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for part in character if character.isascii() else unicodedata.normalize("NFD", character):
            if not _may_change(part):
                letters.append(part)
                places.append(place)
    return _Letters(text, "".join(letters), places)


def _may_change(character: str) -> bool:
    """Return whether the canonical form may drop or change a character."""
    if character.isascii():
        return character == "-" or character <= " " or character == "\x7f"
    return character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Mn", "Mc", "Me")


def _translate(source: _Letters, target: _Letters, start: int, end: int) -> tuple[int, int] | None:
    """Return the range in ``target`` of a range in ``source``, or None if ``target`` does not contain it."""
    first, last = bisect_left(source.places, start), bisect_left(source.places, end)
    letters = source.letters[first:last]
    at = _find_nearest(target.letters, letters, first) if letters else None
    if at is None:
        return None
    begin, stop = target.places[at], target.places[at + len(letters) - 1] + 1
    while stop < len(target.text) and unicodedata.combining(target.text[stop]):
        stop += 1
    before, after = source.text[start : source.places[first]], source.text[source.places[last - 1] + 1 : end]
    if before and target.text[:begin].endswith(before):
        begin -= len(before)
    if after and target.text.startswith(after, stop):
        stop += len(after)
    return begin, stop


def _find_nearest(text: str, passage: str, near: int) -> int | None:
    """Return where the occurrence nearest to a position begins, or None."""
    if text.startswith(passage, near):
        return near
    before = text.rfind(passage, 0, near + len(passage) - 1)
    after = text.find(passage, near + 1)
    occurrences = [at for at in (before, after) if at >= 0]
    return min(occurrences, key=lambda at: abs(at - near), default=None)
