"""From characters of a text as it came to bytes of its canonical form, and back."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from karat.core import Span
from karat.text import canonical


class Offsets:
    r"""A text in both forms.

    Canonical text differs from the text it is made of only in white space, hyphens, control characters and in how a
    letter with its accents is composed (and a running head is gone). Without those both forms are the same letters, so
    a passage is found by counting letters, and by looking for it near there if the count does not fit.

    >>> text = Offsets("caf\u0065\u0301\r\nopen  \r\n")
    >>> text.to_bytes(7, 11), text.to_characters(Span(6, 10)), text.passage(Span(6, 10))
    (Span(start=6, end=10), (7, 11), 'open')
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.canonical = canonical(text)
        self._same = self.canonical.startswith(text)

    def to_bytes(self, start: int, end: int) -> Span | None:
        """Give the span of a range of characters, or None where the canonical text does not have it.

        White space at its ends is left out where the two forms disagree about it.
        """
        found = (start, end) if self._same else _across(self._letters, self._canonical_letters, start, end)
        return found and Span(self._byte(found[0]), self._byte(found[1]))

    def to_characters(self, span: Span) -> tuple[int, int] | None:
        """Give the range of characters of a span, or None where it does not fit the text."""
        start, end = self._character(span.start), self._character(span.end)
        if start is None or end is None or start > end:
            return None
        if self._same:
            return start, min(end, len(self.text))
        return _across(self._canonical_letters, self._letters, start, end)

    def passage(self, span: Span) -> str:
        """Give the canonical text of a span, or nothing where it does not fit the text."""
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
        """At which byte each character begins; None where a character is a byte."""
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
    """The letters of a text without what its canonical form may change, and where each of them stands."""

    text: str
    letters: str
    places: list[int]


def _letters(text: str) -> _Letters:
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for part in character if character.isascii() else unicodedata.normalize("NFD", character):
            if not _is_light(part):
                letters.append(part)
                places.append(place)
    return _Letters(text, "".join(letters), places)


def _is_light(character: str) -> bool:
    if character.isascii():
        return character == "-" or character <= " " or character == "\x7f"
    return character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Mn", "Mc", "Me")


def _across(here: _Letters, there: _Letters, start: int, end: int) -> tuple[int, int] | None:
    first, last = bisect_left(here.places, start), bisect_left(here.places, end)
    wanted = here.letters[first:last]
    found = _nearest(there.letters, wanted, first) if wanted else None
    if found is None:
        return None
    begin, stop = there.places[found], there.places[found + len(wanted) - 1] + 1
    while stop < len(there.text) and unicodedata.combining(there.text[stop]):
        stop += 1
    before, after = here.text[start : here.places[first]], here.text[here.places[last - 1] + 1 : end]
    if before and there.text[:begin].endswith(before):
        begin -= len(before)
    if after and there.text.startswith(after, stop):
        stop += len(after)
    return begin, stop


def _nearest(text: str, wanted: str, near: int) -> int | None:
    """Find the occurrence that begins nearest to a place."""
    if text.startswith(wanted, near):
        return near
    before = text.rfind(wanted, 0, near + len(wanted) - 1)
    after = text.find(wanted, near + 1)
    found = [at for at in (before, after) if at >= 0]
    return min(found, key=lambda at: abs(at - near), default=None)
