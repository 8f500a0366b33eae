"""Chunks that are cut at the strongest separators that make them small enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from karat.core import Document, UsageError, shorten
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._measured import Measured
from karat.systems.chunk._options import Context, check, check_overlap, describe_options
from karat.systems.chunk._packing import Range, hard_places, pack, soft_places
from karat.systems.chunk._tokens import WORDS, Tokens

SEPARATORS = ("\n\n", "\n", ". ", "\u3002", ", ")
"""Paragraphs, lines, sentences, Chinese and Japanese sentences, clauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recursive:
    r"""Cuts at the first of the ``separators``, then parts that are too long at the second, and so on, then at tokens.

    Neighbours that fit into ``size`` tokens are merged, unless one of them had to be cut further. A separator stays
    with the text before it, as ``". "`` does; one that begins with white space and goes on, such as ``"\n## "``, with
    the text after it. Each chunk begins with the last ``overlap`` tokens of the one before.

    >>> text = "The network is free.\n\nAsk at the desk. It is slow, so bring a cable.\n\nThanks."
    >>> [chunk.text for chunk in Recursive(size=10)(Document(id="wifi", text=text))]
    ['The network is free.', 'Ask at the desk.', 'It is slow, so bring a cable.', 'Thanks.']
    """

    size: int = 400
    overlap: int = 0
    separators: Sequence[str] = SEPARATORS
    context: Context = "none"
    tokens: Tokens = WORDS

    def __post_init__(self) -> None:
        check("recursive", self)
        check_overlap("recursive", self.overlap, self.size)
        separators: object = self.separators  # whatever a configuration holds
        if isinstance(separators, str) or not isinstance(separators, Sequence):
            raise UsageError(f"recursive: separators = {shorten(separators)}; write a list of texts")
        for separator in separators:
            if not isinstance(separator, str) or not separator:
                raise UsageError(
                    f"recursive: separators has {shorten(separator)}; each must be a text that is not empty"
                )
        object.__setattr__(self, "separators", tuple(separators))

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Return the chunks of a document."""
        cutting = Cutting(document, context=self.context, tokens=self.tokens, size=self.size, overlap=self.overlap)
        return cutting.chunks(_parts(cutting, self.separators))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are."""
        return describe_options("recursive", self, overlap=self.overlap, separators=list(self.separators))


def _parts(cutting: Cutting, separators: Sequence[str]) -> Iterator[Part]:
    """Yield the parts between separators, each after as much overlap as fits, but less than the whole part before."""
    measured, room = cutting.measured, cutting.room
    if len(measured.starts) <= room:
        yield Part(0, measured.stop)
        return
    begin = 0
    for start, end in _ranges(measured, separators, room - cutting.overlap):
        tokens = min(cutting.overlap, room - measured.count(start, end), measured.count(begin, start) - 1)
        begin = measured.back(start, max(0, tokens))
        yield Part(begin, end)


def _ranges(measured: Measured, separators: Sequence[str], room: int) -> list[Range]:
    ranges = [(0, measured.stop)]
    for separator in (*separators, None):
        finer: list[Range] = []
        for start, end in ranges:
            if measured.count(start, end) <= room:
                finer.append((start, end))
                continue
            if separator is None:
                places = hard_places(measured, start, end, room)
            else:
                places = soft_places(measured, start, end, partial(_places, separator))
            finer += pack(measured, [start, *places, end], room)
        ranges = finer
    return ranges


def _places(separator: str, text: str, start: int, stop: int) -> Iterator[int]:
    """Yield the characters between two others at which a separator allows a cut."""
    step = len(separator) - len(separator.lstrip()) or len(separator)
    at = text.find(separator, start, stop)
    while at >= 0:
        if at + step < stop:
            yield at + step
        at = text.find(separator, at + len(separator), stop)
