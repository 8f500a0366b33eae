"""The canonical text of a document, counted in tokens and in bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from karat.core import Document
from karat.systems.chunk._offsets import Offsets
from karat.systems.chunk._tokens import Tokens, continues, token_starts
from karat.text import canonical

if TYPE_CHECKING:
    from karat.text import Outline


class Measured:
    """A canonical text; costly properties are computed at first use."""

    def __init__(self, document: Document, tokens: Tokens) -> None:
        self.document = document
        self.tokens = tokens
        self.text = canonical(document.text)
        self.stop = len(self.text.rstrip())
        """The end of the last character that is not white space."""

    @cached_property
    def starts(self) -> Sequence[int]:
        """The characters at which tokens begin."""
        return token_starts(self.text, self.tokens)

    @cached_property
    def offsets(self) -> Offsets:
        """The bytes of characters."""
        return Offsets(self.text)

    @cached_property
    def outline(self) -> Outline:
        """The sections and blocks."""
        # Imported here: some chunkers use neither.
        from karat.text import outline

        return outline(self.text)

    def index(self, at: int) -> int:
        """Return the number of tokens that begin before a character."""
        return bisect_left(self.starts, at)

    def count(self, start: int, end: int) -> int:
        """Return the number of tokens that begin in a range of characters."""
        return self.index(end) - self.index(start)

    def separates(self, at: int) -> bool:
        """Return whether a cut before a character leaves all tokens whole."""
        text = self.text
        if text[at - 1].isspace() or text[at].isspace():
            return True
        index = self.index(at)
        return index < len(self.starts) and self.starts[index] == at

    def ahead(self, start: int, tokens: int) -> int:
        """Return the furthest character such that there are at most ``tokens`` tokens from ``start`` to it.

        A letter stays with its marks if possible. One character always fits, however many tokens it has.
        """
        last = self.index(start) + tokens
        if last >= len(self.starts):
            return self.stop
        for index in range(last, last - tokens, -1):
            if self.starts[index] > start and not continues(self.text, self.starts[index]):
                return self.starts[index]
        if self.starts[last] > start:
            return self.starts[last]
        after = bisect_right(self.starts, start)
        return self.starts[after] if after < len(self.starts) else self.stop

    def back(self, end: int, tokens: int) -> int:
        """Return the first character such that there are at most ``tokens`` tokens from it to ``end``."""
        last = self.index(end)
        first = max(0, last - tokens)
        while 0 < first < last and (
            self.starts[first - 1] == self.starts[first] or continues(self.text, self.starts[first])
        ):
            first += 1
        return self.starts[first] if first < last else end
