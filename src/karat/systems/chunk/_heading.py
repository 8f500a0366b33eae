"""Chunks that are sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from karat.core import Document
from karat.systems._chunk import Chunk
from karat.systems.chunk._cutting import Cutting, Part
from karat.systems.chunk._measured import Measured
from karat.systems.chunk._options import Context, check, check_number, check_overlap, describe_options
from karat.systems.chunk._packing import Stretch, merge, pack
from karat.systems.chunk._tokens import WORDS, Tokens
from karat.systems.chunk._typed import typed_blocks, typed_places


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    r"""Makes each section a chunk, with its heading and without its subsections.

    A section of more than ``size`` tokens is cut by sentences, with ``overlap`` as in :class:`Sentence`; code, tables
    and the members of a JSON document stay whole if they fit. A section of fewer than ``least`` tokens is merged with
    the next one, unless that is of a higher level, or else with the one before; if they fit, or are cut anyway.

    >>> text = "# WiFi\n\n## Guests\n\nThe network is free.\n\n## Staff\n\nAsk the desk.\n"
    >>> [(chunk.section, chunk.text) for chunk in Heading(least=4)(Document(id="wifi", text=text))]
    [('S.1', '# WiFi\n\n## Guests\n\nThe network is free.'), ('S.1.2', '## Staff\n\nAsk the desk.')]
    """

    size: int = 512
    overlap: int = 0
    least: int = 64
    context: Context = "none"
    tokens: Tokens = WORDS

    def __post_init__(self) -> None:
        check("heading", self)
        check_overlap("heading", self.overlap, self.size)
        check_number("heading", "least", self.least)

    def __call__(self, document: Document, /) -> list[Chunk]:
        """Return the chunks of a document."""
        cutting = Cutting(
            document, context=self.context, tokens=self.tokens, size=self.size, overlap=self.overlap, outlined=True
        )
        return cutting.chunks(_parts(cutting, self.least))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides what the chunks are."""
        return describe_options("heading", self, overlap=self.overlap, least=self.least)


def _parts(cutting: Cutting, least: int) -> Iterator[Part]:
    measured, room = cutting.measured, cutting.room

    def fit(left: Stretch, right: Stretch) -> bool:
        small = left.tokens + right.tokens <= room or max(left.tokens, right.tokens) > room  # cut anyway
        return small and right.depth >= left.depth

    typed = typed_blocks(measured)
    for section in merge(_sections(measured), least, fit):
        places = [section.start, section.end]
        if section.tokens > room:
            places = typed_places(measured, typed, section.start, section.end, room)
        for start, end in pack(measured, places, room, cutting.overlap):
            yield Part(start, end)


def _sections(measured: Measured) -> Iterator[Stretch]:
    sections = measured.outline.sections
    # The first section begins with the text, wherever its heading is.
    starts = [0, *(measured.offsets.character(section.heading.start) for section in sections[1:]), measured.stop]
    for section, (start, end) in zip(sections, pairwise(starts), strict=True):
        yield Stretch(start, end, measured.count(start, end), depth=section.depth)
