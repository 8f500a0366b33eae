"""Positions in a text, counted in characters and in UTF-8 bytes."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from karat.core import Span

_STEP = 256  # characters between two positions whose byte is stored


class Offsets:
    """Converts positions in characters to bytes and back.

    >>> places = Offsets("café au lait")
    >>> places.span(3, 7), places.character(5)
    (Span(start=3, end=8), 4)
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._bytes: list[int] = []
        if not text.isascii():
            self._data = text.encode()
            sizes = (len(text[at : at + _STEP].encode()) for at in range(0, len(text), _STEP))
            self._bytes = [0, *accumulate(sizes)]

    def byte(self, at: int) -> int:
        """Return the byte at which a character begins."""
        if not self._bytes:
            return at
        step = at // _STEP
        return self._bytes[step] + len(self._text[step * _STEP : at].encode())

    def character(self, at: int) -> int:
        """Return the character that begins at a byte."""
        if not self._bytes:
            return at
        step = bisect_right(self._bytes, at) - 1
        return step * _STEP + len(self._data[self._bytes[step] : at].decode())

    def span(self, start: int, end: int) -> Span:
        """Return the bytes of a range of characters."""
        return Span(self.byte(start), self.byte(end))
