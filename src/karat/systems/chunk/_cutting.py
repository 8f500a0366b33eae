"""From ranges of a text to chunks."""

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
    """A range of characters that becomes a chunk, with its type and section where these are known."""

    start: int
    end: int
    type: str = ""
    section: str = ""


class Cutting:
    """A document that is being cut: its text, and how much of it goes into a chunk beside the context."""

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
        """Whether type and section of each chunk are looked up, as there is an outline anyway."""
        # The rest belongs to the body, however long a title is.
        self.titles = Titles(self.measured, context, None if size is None else size // 2)
        self.room, self.overlap = 0, overlap
        if size is not None:
            self.room = size - self.titles.cost
            self.overlap = overlap * self.room // size  # the same share as without context

    def chunks(self, parts: Iterable[Part]) -> list[Chunk]:
        """Make chunks of parts, numbered from 0; one that holds nothing new, white space for instance, is left out."""
        document, text = self.measured.document.id, self.measured.text
        made: list[Chunk] = []
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
            made.append(
                Chunk(
                    id=f"{document}:chunk:{len(made)}",
                    document=document,
                    span=self.measured.offsets.span(start, end),
                    text=f"{line}\n{body}" if line else body,
                    type=part.type or (self._type(start, end) if self.outlined else ""),
                    section=part.section or (self._section(start, end) if self.outlined else ""),
                )
            )
        return made or self._title_alone()

    def _type(self, start: int, end: int) -> str:
        """Give the type of the blocks in a range of characters; empty where they have several."""
        types = {block.type for block in self.measured.outline.at(self.measured.offsets.span(start, end))}
        return types.pop() if len(types) == 1 else ""

    def _section(self, start: int, end: int) -> str:
        """Give the smallest section that holds a range of characters; empty where none does."""
        outline, byte = self.measured.outline, self.measured.offsets.byte
        # Sections follow each other as in a tree that is read: what holds the first and the last holds all in between.
        around = {""}
        above = outline.section_of(byte(start)).id
        while above:
            around.add(above)
            above = outline.section(above).parent
        found = outline.section_of(byte(end - 1)).id
        while found not in around:
            found = outline.section(found).parent
        return found

    def _title_alone(self) -> list[Chunk]:
        """Give a chunk for a document that has only a title, where titles are indexed, so that it can be found."""
        document, title = self.measured.document.id, self.titles.short(self.titles.title)
        if not title:
            return []
        return [Chunk(id=f"{document}:chunk:0", document=document, span=Span(0, 0), text=title)]
