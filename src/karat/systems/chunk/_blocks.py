"""Chunks that are blocks of one type: prose, code, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from karat.core import Document
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._options import Context, check, check_number, describe_options
from karat.systems.chunk._packing import Stretch, merge, pack
from karat.systems.chunk._tokens import WORDS, Tokens
from karat.systems.chunk._typed import typed_blocks, typed_places

_MERGED = ("prose", "code")  # members of a JSON document are code; two tables stay apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    r"""Makes each paragraph, code block, table and figure a chunk with a type, together with the heading before it.

    Blocks of fewer than ``least`` tokens are merged with their neighbours if both are prose or both are code, are in
    the same section, and fit into ``size`` tokens; the members of a JSON document, too. A block of more than ``size``
    tokens is cut: prose where sentences begin, everything else at the ends of lines.

    >>> text = "# WiFi\n\nFree.\n\nAsk the desk.\n\n| house | speed |\n|---|---|\n| Quay | slow |\n"
    >>> [(chunk.type, chunk.text) for chunk in Blocks()(Document(id="wifi", text=text))]
    [('prose', '# WiFi\n\nFree.\n\nAsk the desk.'), ('table', '| house | speed |\n|---|---|\n| Quay | slow |')]
    """

    size: int = 512
    least: int = 64
    context: Context = "none"
    tokens: Tokens = WORDS

    def __post_init__(self) -> None:
        check("blocks", self)
        check_number("blocks", "least", self.least)

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Return the chunks of a document."""
        cutting = Cutting(document, context=self.context, tokens=self.tokens, size=self.size)
        return cutting.chunks(_parts(cutting, self.least))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are."""
        return describe_options("blocks", self, least=self.least)


def _parts(cutting: Cutting, least: int) -> Iterator[Part]:
    measured, room = cutting.measured, cutting.room

    def fit(left: Stretch, right: Stretch) -> bool:
        alike = left.type == right.type and left.section == right.section
        return alike and left.type in _MERGED and left.tokens + right.tokens <= room

    typed = typed_blocks(measured)
    for run in merge(typed, least, fit):
        places = [run.start, run.end]
        if run.tokens > room:
            places = typed_places(measured, typed, run.start, run.end, room)
        for start, end in pack(measured, places, room):
            yield Part(start, end, run.type, run.section)
