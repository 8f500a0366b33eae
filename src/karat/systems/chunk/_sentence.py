"""Chunks of whole sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from karat.core import Document
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._options import Context, check, check_overlap, describe_options
from karat.systems.chunk._packing import BY_SENTENCE, divide, pack
from karat.systems.chunk._tokens import WORDS, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Fills each chunk with whole sentences up to ``size`` tokens.

    Each chunk begins with the last sentences of the one before, up to ``overlap`` tokens: none, if the last one is
    longer. A sentence that is longer than a chunk is cut at the ends of its lines, and a line between tokens. The
    defaults are ``semantic_512_overlap_50``.

    >>> text = "The network is free. Ask at the desk. It is slow. Use a cable."
    >>> [chunk.text for chunk in Sentence(size=12, overlap=5)(Document(id="wifi", text=text))]
    ['The network is free. Ask at the desk.', 'Ask at the desk. It is slow.', 'It is slow. Use a cable.']
    """

    size: int = 512
    overlap: int = 50
    context: Context = "none"
    tokens: Tokens = WORDS

    def __post_init__(self) -> None:
        check("sentence", self)
        check_overlap("sentence", self.overlap, self.size)

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Return the chunks of a document."""
        cutting = Cutting(document, context=self.context, tokens=self.tokens, size=self.size, overlap=self.overlap)
        measured, room = cutting.measured, cutting.room
        places = [0, measured.stop]
        if len(measured.starts) > room:
            places = divide(measured, 0, measured.stop, room, BY_SENTENCE)
        return cutting.chunks(Part(*range_) for range_ in pack(measured, places, room, cutting.overlap))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are."""
        return describe_options("sentence", self, overlap=self.overlap)
