"""Chunks from ranges of a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from karat.core import Document, Span
from karat.systems._chunk import Chunk
from karat.systems.chunk._context import Titles
from karat.systems.chunk._measured import Measured
from karat.systems.chunk._options import Context
from karat.systems.chunk._tokens import Tokens


class Part(NamedTuple):
    """A range of characters that becomes a chunk, with its type and section if they are known."""

    start: int
    end: int
    type: str = ""
    section: str = ""


class Cutting:
    """A document that is being cut: its text, and how many tokens a chunk has beside its context."""

    def __init__(
        self,
        document: Document,
        *,
        context: Context,
        tokens: Tokens,
        size: int | None = None,
        overlap: int = 0,
        outlined: bool = False,
    ) -> None:
        self.measured = Measured(document, tokens)
        self.outlined = outlined or context == "headings"
        """Whether the type and section of each chunk are determined, since the outline is needed anyway."""
        # However long a title is, half of a chunk is left for its body.
        self.titles = Titles(self.measured, context, None if size is None else size // 2)
        self.room, self.overlap = 0, overlap
        if size is not None:
            self.room = size - self.titles.cost
            self.overlap = overlap * self.room // size  # the same share as without context

    def chunks(self, parts: Iterable[Part]) -> list[Chunk]:
        """Return the chunks of parts, numbered from 0, without parts that hold nothing new, such as white space."""
        document, text = self.measured.document.id, self.measured.text
        chunks: list[Chunk] = []
        last = 0
        for part in parts:
            body = text[part.start : part.end].rstrip()
            end = part.start + len(body)
            body = body.lstrip()
            start = end - len(body)
            if not body or end <= last:
                continue
            last = end
            line = self.titles.before(start)
            chunks.append(
                Chunk(
                    id=f"{document}:chunk:{len(chunks)}",
                    document=document,
                    span=self.measured.offsets.span(start, end),
                    text=f"{line}\n{body}" if line else body,
                    type=part.type or (self._type(start, end) if self.outlined else ""),
                    section=part.section or (self._section(start, end) if self.outlined else ""),
                )
            )
        return chunks or self._title_alone()

    def _type(self, start: int, end: int) -> str:
        """Return the type of the blocks in a range of characters; empty if they have several."""
        types = {block.type for block in self.measured.outline.at(self.measured.offsets.span(start, end))}
        return types.pop() if len(types) == 1 else ""

    def _section(self, start: int, end: int) -> str:
        """Return the smallest section that contains a range of characters; empty if none does."""
        outline, byte = self.measured.outline, self.measured.offsets.byte
        # Sections are in the order of a tree: one that contains both ends contains everything in between.
        around = {""}
        above = outline.section_of(byte(start)).id
        while above:
            around.add(above)
            above = outline.section(above).parent
        section = outline.section_of(byte(end - 1)).id
        while section not in around:
            section = outline.section(section).parent
        return section

    def _title_alone(self) -> list[Chunk]:
        """Return a chunk for a document that has only a title, if titles are indexed."""
        document, title = self.measured.document.id, self.titles.shorten(self.titles.title)
        if not title:
            return []
        return [Chunk(id=f"{document}:chunk:0", document=document, span=Span(0, 0), text=title)]
