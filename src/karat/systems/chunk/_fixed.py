"""Chunks of a fixed number of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from karat.core import Document
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._options import Context, check, check_overlap, describe_options
from karat.systems.chunk._tokens import WORDS, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Cuts after every ``size`` tokens; each chunk begins with the last ``overlap`` tokens of the one before.

    >>> chunks = Fixed(size=4, overlap=1)(Document(id="wifi", text="The network is free. Ask at the desk."))
    >>> [chunk.text for chunk in chunks]
    ['The network is free', 'free. Ask at', 'at the desk.']
    """

    size: int = 256
    overlap: int = 32
    context: Context = "none"
    tokens: Tokens = WORDS

    def __post_init__(self) -> None:
        check("fixed", self)
        check_overlap("fixed", self.overlap, self.size)

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Return the chunks of a document."""
        cutting = Cutting(document, context=self.context, tokens=self.tokens, size=self.size, overlap=self.overlap)
        return cutting.chunks(_parts(cutting))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are."""
        return describe_options("fixed", self, overlap=self.overlap)


def _parts(cutting: Cutting) -> Iterator[Part]:
    measured, start, end = cutting.measured, 0, 0
    while end < measured.stop:
        stop = measured.ahead(start, cutting.room)
        if stop > end:
            yield Part(start, stop)
            start, end = measured.back(stop, cutting.overlap), stop
        else:  # the overlap leaves no room, for instance a letter with a hundred marks
            start = end
