"""Chunks cut at the strongest separators that make them small enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from karat.core import Document, UsageError, shorten
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._measured import Measured
from karat.systems.chunk._options import Context, check, check_overlap, described
from karat.systems.chunk._packing import Range, hard_places, pack, soft_places
from karat.systems.chunk._tokens import WORDS, Tokens

SEPARATORS = ("\n\n", "\n", ". ", "\u3002", ", ")
"""Paragraphs, lines, sentences, Chinese and Japanese sentences, clauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recursive:
    r"""Cuts at the first of the ``separators``, what is still too long at the second, and so on; then between tokens.

    Neighbours that fit into ``size`` tokens together are put together, unless one of them had to be cut further. A
    separator stays with what it ends: ``". "`` with the sentence before; but ``"\n## "``, which begins something after
    white space, with what follows. Each chunk begins with the last ``overlap`` tokens of the one before.

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
        given: object = self.separators  # whatever a configuration holds
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise UsageError(f"recursive: separators = {shorten(given)}; give a list of texts")
        for separator in given:
            if not isinstance(separator, str) or not separator:
                raise UsageError(f"recursive: separators has {shorten(separator)}; each is a text that is not empty")
        object.__setattr__(self, "separators", tuple(given))

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Give the chunks of a document."""
        cutting = Cutting(document, context=self.context, tokens=self.tokens, size=self.size, overlap=self.overlap)
        return cutting.chunks(_parts(cutting, self.separators))

    def describe(self) -> dict[str, Any]:
        """Give all that decides what the chunks are."""
        return described("recursive", self, overlap=self.overlap, separators=list(self.separators))


def _parts(cutting: Cutting, separators: Sequence[str]) -> Iterator[Part]:
    """Give what the separators leave, with the overlap before each part: no more than fits, nor a whole part."""
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
    found = [(0, measured.stop)]
    for separator in (*separators, None):
        finer: list[Range] = []
        for start, end in found:
            if measured.count(start, end) <= room:
                finer.append((start, end))
                continue
            if separator is None:
                places = hard_places(measured, start, end, room)
            else:
                places = soft_places(measured, start, end, partial(_places, separator))
            finer += pack(measured, [start, *places, end], room)
        found = finer
    return found


def _places(separator: str, text: str, start: int, stop: int) -> Iterator[int]:
    """Give the characters between two others at which a separator lets a text be cut."""
    step = len(separator) - len(separator.lstrip()) or len(separator)
    at = text.find(separator, start, stop)
    while at >= 0:
        if at + step < stop:
            yield at + step
        at = text.find(separator, at + len(separator), stop)
